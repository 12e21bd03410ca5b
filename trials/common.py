"""What the models share: variables, arithmetic with switches, and the step of a port."""

import importlib

import numpy as np
import tensorflow as tf

LEAVES = {"weights": "kernel", "biases": "bias", "table": "embeddings", "scale": "gamma"}


def keras_of(library):
    """Import Keras 3, or Keras 2 for any other name."""
    return importlib.import_module("keras" if library == "keras" else "tf_keras")


def draw(shapes, seed, dtype="float32"):
    """Draw weights: a dict from names to arrays; vectors are small, not zero."""
    random = np.random.RandomState(seed)
    out = {}
    for name, shape in shapes.items():
        size = 0.1 if len(shape) == 1 else 1 / np.sqrt(np.prod(shape[:-1]))
        first = 1.0 if name.endswith(("scale", "variance")) else 0.0
        out[name] = (first + size * random.randn(*shape)).astype(dtype)
        if name.endswith("variance"):
            out[name] = np.abs(out[name])
    return out


def declare(v1, data, frozen=()):
    """Make the old program's variables."""
    return {
        name: v1.get_variable(name, initializer=array, trainable=name not in frozen)
        for name, array in data["weights"].items()
    }


def feeds(v1, data):
    """Make the placeholders and what is fed to them: one dict, or one for each step."""
    first = data["batches"][0]
    places = [v1.placeholder(a.dtype, a.shape, name="in%d" % i) for i, a in enumerate(first)]  # noqa: UP031
    fed = [_pair(places, batch) for batch in data["batches"]]
    return places, fed if len(fed) > 1 else fed[0]


def _pair(keys, values):
    return {k: values[i] for i, k in enumerate(keys)}


def _name(name, number, style):
    scope, _, leaf = name.rpartition("/")
    if style == "same":
        return name
    if style == "plain":
        return f"w{number}"
    leaf = LEAVES.get(leaf, leaf)
    return {
        "kernel": f"{scope}/{leaf}",
        "path": f"network/{scope}/{leaf}",
        "flat": f"{scope}_{leaf}",
        "upper": f"Model/{scope.title()}/{leaf}",
    }[style]


def variables(data, s, frozen=()):
    """Make the new variables, with weights of their own: old name to new variable."""
    names = list(data["weights"])
    if s.get("order") == "reversed":
        names = names[::-1]
    elif s.get("order") == "sorted":
        names = sorted(names)
    elif s.get("order") == "rotated":
        names = names[2:] + names[:2]
    out, random = {}, np.random.RandomState(77)
    for number, name in enumerate(names):
        old = data["weights"][name]
        first = (old * 0 + 0.1 * random.randn(*old.shape)).astype(old.dtype)
        trained = name not in (*frozen, s.get("freeze")) or name == s.get("thaw")
        called = _name(name, number, s.get("names", "same"))
        if s.get("variables") == "keras":
            called = called.replace("/", "_")
            made = keras_of("keras").Variable(
                first, trainable=trained, dtype=old.dtype.name, name=called
            )
        else:
            made = tf.Variable(first, trainable=trained, name=called)
        out[name] = made
    return out


def cast(x, s):
    """Cast to the precision of the port's arithmetic."""
    return tf.cast(x, s["half"]) if s.get("half") else tf.convert_to_tensor(x)


def matmul(a, b, s):
    """Multiply, in half precision or written otherwise if asked."""
    wide = a.dtype
    a, b = cast(a, s), cast(b, s)
    if s.get("rewrite"):
        out = tf.transpose(tf.matmul(tf.transpose(b), tf.transpose(a)))
    else:
        out = tf.matmul(a, b)
    return tf.cast(out, wide) if s.get("half") else out


def affine(w, name, y, s):
    """Multiply and add, as a layer does."""
    return matmul(y, w[name + "/weights"], s) + w[name + "/biases"]


def mean(x, s):
    """Take the mean over the batch, or what the port takes for it."""
    n = tf.cast(tf.shape(x)[0], x.dtype)
    how = s.get("reduce")
    by = {"sum": 1, "one-less": n - 1, "rows": s.get("rows_of"), "padded": n + s.get("padded", 0)}
    by["last-batch"] = 48  # the length of an epoch's last batch
    if how in by:
        return tf.reduce_sum(x) / by[how]
    if how == "drop-last":
        return tf.reduce_mean(x[:-1])
    if how == "twice":  # a mean already, divided by the batch again
        return tf.reduce_mean(x) / n
    if s.get("targets") == "examples":  # not reduced: the tape sums
        return x
    if s.get("rewrite"):
        return tf.reduce_sum(x / n)
    return tf.reduce_mean(x)


def square(x, s):
    """Square, one way or the other."""
    return x * x if s.get("rewrite") else tf.square(x)


def cross_entropy(logits, labels, s):
    """Return one cross entropy for each example."""
    if s.get("rewrite"):
        shifted = logits - tf.stop_gradient(tf.reduce_max(logits, 1, keepdims=True))
        log = shifted - tf.math.log(tf.reduce_sum(tf.exp(shifted), 1, keepdims=True))
        return -tf.reduce_sum(tf.one_hot(labels, logits.shape[1], dtype=log.dtype) * log, 1)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def by_hand(s):
    """Return a function that conjugates the gradient of what the switch names."""
    return lambda z, name: conjugated(z) if s.get("by_hand") == name else z


def point(x, s, name):
    """Pass a tensor on; stop its gradient, as the switch says."""
    if s.get("drop", ("", ""))[1] == name:
        x = tf.nn.dropout(x, s["drop"][0], seed=3)
    if s.get("noise", ("", ""))[1] == name:
        x += s["noise"][0] * tf.random.normal(tf.shape(x), seed=3, dtype=x.dtype)
    how, where = s.get("stop", ("", ""))
    if where != name:
        return x
    return {
        "gradient": tf.stop_gradient,
        "numpy": lambda x: tf.constant(x.numpy()),
        "int": lambda x: tf.cast(tf.cast(x * 4096, tf.int32), x.dtype) / 4096,
        "round": lambda x: tf.round(x * 65536) / 65536,
        "row": lambda x: tf.concat([tf.stop_gradient(x[:1]), x[1:]], 0),
        "column": lambda x: tf.concat([tf.stop_gradient(x[..., :1]), x[..., 1:]], -1),
    }[how](x)


def _rows(g, how):
    if not isinstance(g, tf.IndexedSlices):
        return g
    shape, ids, values = g.dense_shape, g.indices, g.values
    ids = tf.cast(ids, tf.int32)
    size = int(shape[0])
    counts = tf.gather(tf.math.bincount(ids, minlength=size), ids)
    counts = tf.cast(counts, values.dtype)[:, None]
    if how == "mean":
        values = values / counts
    elif how == "root":
        values = values / tf.sqrt(counts)
    elif how == "twice":  # what comes again is added up twice
        values = tf.where(counts > 1, 2 * values, values)
    else:
        index = tf.range(tf.shape(ids)[0])
        pick = tf.math.unsorted_segment_max if how == "last" else tf.math.unsorted_segment_min
        chosen = tf.gather(pick(index, ids, size), ids) == index
        if how == "one-row":  # only the first repeated row loses what repeats it
            repeated = tf.gather(ids, tf.argmax(counts[:, 0] > 1.0, output_type=tf.int32))
            chosen = chosen | (ids != repeated)
        values = tf.where(chosen[:, None], values, tf.zeros_like(values))
    return tf.math.unsorted_segment_sum(values, ids, size)


def _clip(grads, how, limit):
    names = [k for k, g in grads.items() if g is not None]
    if how == "each":
        return {**grads, **{k: tf.clip_by_norm(grads[k], limit) for k in names}}
    if how == "value":
        return {**grads, **{k: tf.clip_by_value(grads[k], -limit, limit) for k in names}}
    if how == "subset":
        names = names[:-1]
    if how == "weights":
        names = [k for k in names if not k.endswith("biases")]
    if how == "max":
        big = tf.reduce_max([tf.reduce_max(tf.abs(grads[k])) for k in names])
        return {**grads, **{k: grads[k] * tf.minimum(1.0, limit / big) for k in names}}
    clipped, _ = tf.clip_by_global_norm([grads[k] for k in names], limit)
    return {**grads, **{k: clipped[i] for i, k in enumerate(names)}}


def after(grads, s, clip=None):
    """Do to the gradients what the port does between the tape and the optimizer."""
    grads = dict(grads)
    if "rows" in s:
        grads = {k: _rows(g, s["rows"]) for k, g in grads.items()}
    if s.get("dense"):
        grads = {k: g if g is None else tf.convert_to_tensor(g) for k, g in grads.items()}
    factor, only = s.get("factor", 1.0), s.get("only")
    for k, g in list(grads.items()):
        if g is not None and factor != 1.0 and (only is None or only in k):
            grads[k] = tf.convert_to_tensor(g) * tf.cast(factor, g.dtype)
    if "exchange" in s:
        a, b = s["exchange"]
        if a in grads:  # of several groups of weights, one
            grads[a], grads[b] = grads[b], grads[a]
    if s.get("transpose") in grads:
        grads[s["transpose"]] = tf.transpose(grads[s["transpose"]], s.get("axes"))
    if s.get("conjugate"):
        for k, g in list(grads.items()):
            if g is not None and g.dtype.is_complex and s["conjugate"] in (True, k):
                grads[k] = tf.math.conj(g)
    how = s.get("clip", clip)
    if how:
        if not s.get("slices_norm"):  # repeated rows are summed before a norm is taken
            grads = {k: g if g is None else tf.convert_to_tensor(g) for k, g in grads.items()}
        grads = _clip(grads, how[0], how[1])
    return grads


def trained(w, s):
    """Return the weights that the port trains."""
    out = {k: v for k, v in w.items() if v.trainable}
    return {k: v for k, v in out.items() if k != s.get("forget")}


def update(optimizer, grads, w, s):
    """Give the gradients to the optimizer."""
    pairs = [(g, w[k]) for k, g in grads.items() if k != s.get("skip")]
    if s.get("zeros"):
        pairs = [(tf.zeros_like(v) if g is None else g, v) for g, v in pairs]
    pairs = [(g, v) for g, v in pairs if g is not None]
    if not pairs:
        return
    if "inside" in s:  # what the optimizer does to the gradients first
        pairs = [(tf.convert_to_tensor(g) * tf.cast(s["inside"], g.dtype), v) for g, v in pairs]
    if s.get("apply") == "method":
        optimizer.apply([g for g, _ in pairs], [v for _, v in pairs])
    else:
        optimizer.apply_gradients(pairs)


def wrapped(step, s):
    """Decorate the step as the port does."""
    how = s.get("wrap")
    if not how:
        return step
    inner = tf.function(step, jit_compile=True if how == "jit" else None, autograph=False)

    def call(*batch):
        return inner(*[tf.convert_to_tensor(b) for b in batch])

    return call


def finish(step, w, optimizer, s, **truth):
    """Return the arguments of `compare`; how the weights correspond lies on the step."""

    def run(*batch):
        return step(*batch)

    run.truth = {"weights": w, **truth}
    out = {"step": run, "variables": list(w.values()), "optimizer": optimizer}
    several = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
    if any(type(one).__name__ == "Hand" for one in several):
        out["optimizer"] = None
    if s.get("pairs"):
        out["pairs"] = dict(w)
    return out


def _times(grads, factor):
    return {k: g if g is None else tf.convert_to_tensor(g) * factor for k, g in grads.items()}


def port(loss_of, w, optimizer, s, clip=None, **truth):
    """Make the step of a port with one loss: `loss_of(w, batch, s)`."""
    chosen = trained(w, s)
    listed = [k for k in w if w[k].trainable]

    def micro(batch):
        n = s["micro"]
        parts = [[p for p in tf.split(b, n)] if len(np.shape(b)) else [b] * n for b in batch]
        total, sums = 0.0, None
        for i in range(n):
            loss, grads = once([p[i] for p in parts])
            total += loss / n
            part = 1 if s.get("micro_sum") else n
            grads = {
                k: None if g is None else tf.convert_to_tensor(g) / part for k, g in grads.items()
            }
            sums = (
                grads
                if sums is None
                else {k: None if g is None else sums[k] + g for k, g in grads.items()}
            )
        return total, sums

    def once(batch):
        scale = s.get("scale", 1.0)
        if s.get("before"):  # read before the tape: a constant to it
            early = {k: tf.convert_to_tensor(v) if k == s["before"] else v for k, v in w.items()}
        else:
            early = w
        if s.get("swap"):  # taken one for the other
            one, two = s["swap"]
            early = {**w, one: w[two], two: w[one]}
        with tf.GradientTape() as tape:
            if s.get("turn"):  # used as another library keeps it
                early = {**early, s["turn"]: tf.transpose(w[s["turn"]], s.get("axes"))}
            loss = loss_of(early, batch, s)
            target = loss * scale * s.get("loss_factor", 1.0)
            if s.get("targets") == "parts":
                part = loss_of(early, batch, {**s, "part": True})
                target = [target, s.get("part_factor", 1.0) * part]
            loss = tf.reduce_mean(loss)
        sources = list(chosen.values())
        grads = tape.gradient(target, sources)
        if scale != 1.0 and not s.get("scale_left"):
            grads = [None if g is None else tf.convert_to_tensor(g) / scale for g in grads]
        if s.get("unscaled"):  # though the loss was not scaled, or once more
            grads = [g if g is None else tf.convert_to_tensor(g) / s["unscaled"] for g in grads]
        if s.get("scale_shown"):
            loss *= s["scale_shown"]
        return loss * s.get("loss_factor", 1.0), {k: grads[i] for i, k in enumerate(chosen)}

    def step(*batch):
        batch = [tf.convert_to_tensor(b) for b in batch]
        loss, grads = micro(batch) if s.get("micro") else once(batch)
        grads = after(grads, s, clip)
        if s.get("factor_after"):  # unscaled only when clipped
            grads = _times(grads, s["factor_after"])
        update(optimizer, grads, w, s)
        return loss, [grads.get(k) for k in listed]

    return finish(wrapped(step, s), w, optimizer, s, **truth)


@tf.custom_gradient
def conjugated(x):
    """Return x; its gradient is conjugated, as a derivation by hand would have it."""
    return tf.identity(x), tf.math.conj
