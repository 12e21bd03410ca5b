"""The optimizers of the translator's ports."""

import tensorflow as tf

from trials import common

VOCABULARY, UNITS = 15, 8
RATE, WARMUP, CLIP = 0.05, 3.0, 1.7

ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-8}


class Warmup:
    """The rate of a step that counts from 0."""

    def __init__(self, s):
        self.s = s

    def __call__(self, count):
        s = self.s
        step = tf.cast(count, tf.float32) + (0.0 if s.get("count") == "from zero" else 1.0)
        if s.get("count") == "by micro-batches":
            step = 2 * step
        warm = s.get("warmup", WARMUP)
        rise, fall = step * warm**-1.5, tf.math.rsqrt(tf.maximum(step, 1e-6))
        if s.get("after_warmup") == "constant":
            fall = warm**-0.5
        return RATE * s.get("rate", 1.0) * s.get("hidden", UNITS) ** -0.5 * tf.minimum(rise, fall)


def schedule_of(keras, s):
    """Wrap the warm-up as the library wants it."""
    warm = Warmup(s)

    class Noam(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return warm(step)

        def get_config(self):
            return {}

    return Noam()


class Adam:
    """Adam by hand, for those who do not trust the library."""

    def __init__(self, variables, rate, s):
        a = {**ADAM, **s.get("opt", {})}
        self.rate, self.a, self.s = rate, a, s
        self.t = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.state = {id(v): (self.zero(v), self.zero(v)) for v in variables}

    def zero(self, v):
        return tf.Variable(tf.zeros(v.shape, v.dtype), trainable=False)

    def apply_gradients(self, pairs):
        rate, a = self.rate(self.t), self.a
        self.t.assign_add(1)
        for g, v in pairs:
            self.one(tf.convert_to_tensor(g), v, tf.cast(rate, g.dtype), a)

    def one(self, g, v, rate, a):
        m, n = self.state[id(v)]
        t = tf.cast(self.t, g.dtype)
        one, two = tf.cast(a["beta_1"], g.dtype), tf.cast(a["beta_2"], g.dtype)
        m.assign(one * m + (1 - one) * g)
        n.assign(two * n + (1 - two) * g * g)
        top, bottom = m.read_value(), n.read_value()
        how = a.get("correct", "both")
        if how in ("both", "first"):
            top = top / (1 - one**t)
        if how in ("both", "second"):
            bottom = bottom / (1 - two**t)
        epsilon = tf.cast(a["epsilon"], g.dtype)
        if how == "both":
            epsilon = epsilon / tf.sqrt(1 - two**t)
        root = tf.sqrt(bottom + epsilon) if a.get("inside") else tf.sqrt(bottom) + epsilon
        v.assign_sub(rate * top / root)


def optimizer_of(w, s):
    """Make the optimizer."""
    library, settings = s.get("library", "keras"), {**ADAM, **s.get("opt", {})}
    if library == "hand":
        return Adam(list(w.values()), Warmup(s), s)
    if library == "v1":
        count, warm = tf.Variable(-1, dtype=tf.int64, trainable=False), Warmup(s)

        def rate():
            return warm(tf.maximum(count, 0))

        made = tf.compat.v1.train.AdamOptimizer(
            rate, settings["beta_1"], settings["beta_2"], settings["epsilon"]
        )
        inner = made.apply_gradients

        def apply(pairs):
            count.assign_add(1)
            return inner(pairs)

        made.apply_gradients = apply
        return made
    keras = common.keras_of(library)
    kind = keras.optimizers.AdamW if "weight_decay" in settings else keras.optimizers.Adam
    made = kind(schedule_of(keras, s), **settings)
    made.build(list(w.values()))
    return made


def summed(g, how):
    """Make a dense gradient of the table's slices, rightly or not."""
    if not isinstance(g, tf.IndexedSlices) or how == "right":
        return tf.convert_to_tensor(g)
    rows, empty = tf.cast(g.indices, tf.int32)[:, None], tf.zeros(g.dense_shape, g.dtype)
    values = tf.reshape(g.values, [-1, UNITS])
    if how == "update":  # one of those with the same row wins
        flat = empty.numpy()
        for i, row in enumerate(rows[:, 0].numpy()):
            flat[row] = values[i].numpy()
        return tf.constant(flat)
    if how == "mean":
        return tf.math.unsorted_segment_mean(values, rows[:, 0], VOCABULARY)
    if how == "target only":  # the first lookup is overwritten by the second where both are
        half = 6 * 7
        first = tf.scatter_nd(rows[:half], values[:half], empty.shape)
        second = tf.scatter_nd(rows[half:], values[half:], empty.shape)
        there = tf.reduce_any(second != 0, 1, keepdims=True)
        return tf.where(there, second, first)
    raise ValueError(how)


def unscaled(g, scale):
    """Take the scale out; slices stay slices."""
    if isinstance(g, tf.IndexedSlices):
        return tf.IndexedSlices(g.values / scale, g.indices, g.dense_shape)
    return g / scale


def clip(grads, s):
    """Clip the gradients (a dict)."""
    names = list(grads)
    how, limit = s.get("clip", "global"), s.get("limit", CLIP)
    if how == "out":
        return grads
    if how == "each":  # what `clipnorm` of Keras does
        return {k: tf.clip_by_norm(tf.convert_to_tensor(g), limit) for k, g in grads.items()}
    if how == "value":
        return {
            k: tf.clip_by_value(tf.convert_to_tensor(g), -limit, limit) for k, g in grads.items()
        }
    if how == "summed":
        grads = {k: tf.convert_to_tensor(g) for k, g in grads.items()}
    if how == "without table":
        norm = tf.linalg.global_norm([grads[k] for k in names if k != "embedding/table"])
    elif s.get("by_hand"):
        squares = [
            tf.reduce_sum(g.values**2 if isinstance(g, tf.IndexedSlices) else g**2)
            for g in grads.values()
        ]
        norm = tf.sqrt(tf.add_n(squares))
    else:
        norm = tf.linalg.global_norm(list(grads.values()))
    clipped, _ = tf.clip_by_global_norm([grads[k] for k in names], limit, use_norm=norm)
    return {k: clipped[i] for i, k in enumerate(names)}
