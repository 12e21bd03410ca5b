"""The optimizers of the actor-critic's ports."""

import tensorflow as tf

from trials import common

STEPS = 20

ADAM = {"lr": 0.01, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-5}
RMSPROP = {"lr": 7e-3, "rho": 0.95, "momentum": 0.8, "epsilon": 1e-5, "start": 1.0}


class RMSProp:
    """RMSProp as version 1 has it: epsilon inside the root, the rate in the momentum."""

    def __init__(self, variables, rate, a):
        self.rate, self.a = rate, a
        self.count = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.state = {}
        for v in variables:
            ones = tf.fill(v.shape, tf.cast(a["start"], v.dtype))
            zeros = tf.zeros(v.shape, v.dtype)
            self.state[id(v)] = tf.Variable(ones), tf.Variable(zeros)

    def apply_gradients(self, pairs):
        rate = self.rate(self.count) if callable(self.rate) else self.rate
        self.count.assign_add(1)
        a = self.a
        for g, v in pairs:
            average, momentum = self.state[id(v)]
            average.assign_add((g * g - average) * tf.cast(1 - a["rho"], g.dtype))
            if a.get("outside"):
                direction = g / (tf.sqrt(average) + tf.cast(a["epsilon"], g.dtype))
            else:
                direction = g * tf.math.rsqrt(average + tf.cast(a["epsilon"], g.dtype))
            push = tf.cast(rate, g.dtype) * direction
            momentum.assign(tf.cast(a["momentum"], g.dtype) * momentum + push)
            if a.get("nesterov"):
                v.assign_sub(tf.cast(a["momentum"], g.dtype) * momentum + push)
            else:
                v.assign_sub(momentum)


class Adam:
    """Adam by hand, with the corrections in the rate, or as other libraries have it."""

    def __init__(self, variables, a):
        self.a = a
        self.t = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.m = {id(v): tf.Variable(tf.zeros(v.shape, v.dtype)) for v in variables}
        self.n = {id(v): tf.Variable(tf.zeros(v.shape, v.dtype)) for v in variables}

    def apply_gradients(self, pairs):
        self.t.assign_add(1)
        a = self.a
        for g, v in pairs:
            kind, m, n = g.dtype, self.m[id(v)], self.n[id(v)]
            t = tf.cast(self.t - (1 if a.get("correct") == "one step late" else 0), kind)
            m.assign_add((g - m) * tf.cast(1 - a["beta_1"], kind))
            n.assign_add((g * g - n) * tf.cast(1 - a["beta_2"], kind))
            one = 1 - tf.cast(a["beta_1"], kind) ** t
            two = 1 - tf.cast(a["beta_2"], kind) ** t
            if a.get("correct") == "none":
                one = two = tf.ones([], kind)
            epsilon = tf.cast(a["epsilon"], kind)
            if a.get("correct") == "beside":  # as PyTorch: epsilon beside the corrected root
                step = (m / one) / (tf.sqrt(n / two) + epsilon)
            else:
                step = m * (tf.sqrt(two) / one) / (tf.sqrt(n) + epsilon)
            v.assign_sub(tf.cast(a["lr"], kind) * step)


def falling(s):
    """Return the critic's rate as a function of the count of steps."""
    first = s.get("vf_opt", {}).get("lr", RMSPROP["lr"])
    steps, last = s.get("steps", STEPS), s.get("last", 0.0)

    def rate(count):
        count = tf.cast(count, tf.float64)
        if s.get("falls") == "after the step":
            count += 1
        return (first - last) * (1 - tf.minimum(count / steps, 1.0)) + last

    return rate if s.get("falls") != "out" else first


def optimizers_of(parts, s):
    """Make both optimizers."""
    library = s.get("library", "hand")
    a = {**ADAM, **s.get("pi_opt", {})}
    b = {**RMSPROP, **s.get("vf_opt", {})}
    if library == "hand":
        return {"pi": Adam(parts["pi"], a), "vf": RMSProp(parts["vf"], falling(s), b)}
    if library == "v1":
        train, count = tf.compat.v1.train, tf.Variable(0, dtype=tf.int64, trainable=False)
        rate = falling(s)
        second = train.RMSPropOptimizer(lambda: rate(count), b["rho"], b["momentum"], b["epsilon"])
        apply = second.apply_gradients

        def counted(pairs):
            apply(pairs)
            count.assign_add(1)

        second.apply_gradients = counted
        return {"pi": train.AdamOptimizer(a["lr"], epsilon=a["epsilon"]), "vf": second}
    keras = common.keras_of(library)
    lr, extra = a.pop("lr"), {}
    kind = keras.optimizers.AdamW if "weight_decay" in a else keras.optimizers.Adam
    rate = b["lr"]
    if s.get("falls") != "out":
        rate = keras.optimizers.schedules.PolynomialDecay(
            rate, s.get("steps", STEPS), s.get("last", 0.0)
        )
    if "vf_decay" in s:
        extra["weight_decay"] = s["vf_decay"]
    second = keras.optimizers.RMSprop(
        rate, rho=b["rho"], momentum=b["momentum"], epsilon=b["epsilon"], **extra
    )
    out = {"pi": kind(lr, **a), "vf": second}
    for group, made in out.items():
        made.build(parts[group])
    if b["start"]:
        for average in second._velocities:
            average.assign(tf.fill(average.shape, tf.cast(b["start"], average.dtype)))
    return out
