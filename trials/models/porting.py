"""What the models of beams, sessions, auctions, springs, contexts and enlarging share."""

import tensorflow as tf

from trials import common


def rate_of(v1, lr, step):
    """Return the old program's rate: a number, or what falls with the steps."""
    if not isinstance(lr, list):
        return lr
    if lr[0] == "inverse":
        return v1.train.inverse_time_decay(lr[1], step, 1, lr[2])
    if lr[0] == "polynomial":
        return v1.train.polynomial_decay(lr[1], step, *lr[2:])
    if lr[0] == "cosine":
        return v1.train.cosine_decay(lr[1], step, lr[2], lr[3])
    if lr[0] == "piecewise":
        bounds = [v1.constant(b, step.dtype) for b in lr[1]]
        return v1.train.piecewise_constant(step, bounds, lr[2])
    return v1.train.exponential_decay(lr[0], step, *lr[1:])


def old_step(v1, loss, kind, k, clip=None, moves=()):
    """Return the gradients and the step of an old program: `k` are the optimizer's settings."""
    step = v1.train.get_or_create_global_step()
    rate = rate_of(v1, k["lr"], step)
    if kind == "adam":
        optimizer = v1.train.AdamOptimizer(rate, k["beta_1"], k["beta_2"], k["epsilon"])
    elif kind == "rmsprop":
        momentum = k.get("momentum", 0.0)
        optimizer = v1.train.RMSPropOptimizer(rate, k["rho"], momentum, k["epsilon"])
    elif kind == "adagrad":
        optimizer = v1.train.AdagradOptimizer(rate, k["start"])
    else:
        nesterov = k.get("nesterov", False)
        optimizer = v1.train.MomentumOptimizer(rate, k["momentum"], use_nesterov=nesterov)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads = [v1.convert_to_tensor(g) for g in grads]
    if clip and clip[0] == "global":
        grads, _ = v1.clip_by_global_norm(grads, clip[1])
    elif clip and clip[0] == "each":
        grads = [v1.clip_by_norm(g, clip[1]) for g in grads]
    elif clip:
        grads = [v1.clip_by_value(g, -clip[1], clip[1]) for g in grads]
    pairs = list(zip(grads, sources, strict=True))
    train_op = v1.group(optimizer.apply_gradients(pairs, global_step=step), *moves)
    return pairs, train_op


def weigh(losses, trust, s):
    """Reduce the losses of the examples to one."""
    how = s.get("sample_weights")
    trust = {
        "out": lambda: tf.ones_like(trust),
        "power": lambda: tf.pow(trust, s["power"]),
        "cut": lambda: tf.minimum(trust, s["cut"]),
        "raised": lambda: tf.maximum(trust, s["raised"]),
        "one": lambda: tf.concat([trust[:3], trust[3:4] * s["one"], trust[4:]], 0),
        "shifted": lambda: tf.roll(trust, 1, 0),
        "whole": lambda: tf.floor(trust),  # kept as integers
        "broadcast": lambda: tf.ones_like(trust) * tf.reduce_mean(trust),  # rows by columns
        "share": lambda: (1 - s["share"]) * trust + s["share"],
    }.get(how, lambda: trust)()
    if s.get("reduce") == "nonzero":  # as losses of version 1 do
        return tf.reduce_sum(trust * losses) / tf.math.count_nonzero(trust, dtype=trust.dtype)
    if s.get("reduce") == "weights":
        return tf.reduce_sum(trust * losses) / tf.reduce_sum(trust)
    return common.mean(trust * losses, s)


def decayed(w, kernels, s):
    """Return the decay that is in the loss."""
    sums = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in kernels]
    if s.get("decay_last"):  # one kernel has another share
        sums[-1] *= s["decay_last"]
    if s.get("decay_how") == "norms":  # norms, not their squares
        sums = [tf.sqrt(one) for one in sums]
    if s.get("decay_how") == "means":  # of a kernel the mean, not the sum
        sums = [one / tf.size(w[k], one.dtype) for k, one in zip(kernels, sums, strict=True)]
    return tf.add_n(sums) * s.get("l2_half", 0.5)


def look(w, name, ids, s):
    """Look rows up, one way or the other; what each use counts on the way back."""
    if s.get("one_hot"):
        table = tf.convert_to_tensor(w[name])
        return tf.tensordot(tf.one_hot(ids, table.shape[0], dtype=table.dtype), table, 1)
    rows = tf.gather(w[name], ids)
    if s.get("uses", ("", ""))[0] != name:
        return rows
    flat = tf.reshape(ids, [-1])
    same = tf.cast(flat[:, None] == flat[None], rows.dtype)
    if s["uses"][1] == "example":  # what repeats within an example counts once
        example = tf.repeat(tf.range(ids.shape[0]), 1 if len(ids.shape) == 1 else ids.shape[1])
        same *= tf.cast(example[:, None] == example[None], rows.dtype)
    counts = tf.reduce_sum(same, 1)
    earlier = tf.reduce_sum(tf.linalg.band_part(same, -1, 0), 1)
    part = {
        "mean": 1 / counts,
        "root": 1 / tf.sqrt(counts),
        "first": tf.cast(earlier < 2, rows.dtype),
        "example": tf.cast(earlier < 2, rows.dtype),
        "two": tf.cast(earlier < 3, rows.dtype),
        "last": tf.cast(earlier == counts, rows.dtype),
        "again": counts,
        "less": 1 - s.get("less", 0.0) * tf.cast(earlier > 1, rows.dtype),
    }[s["uses"][1]]
    still = tf.stop_gradient(rows)
    return still + tf.reshape(part, [*ids.shape, 1]) * (rows - still)


def averages(w, y, s, share):
    """Return the mean and the variance of rows to normalize by, and move the averages."""
    share, how = s.get("bn_momentum", share), s.get("average")
    rows = 1
    for size in y.shape[:-1]:
        rows *= size
    mean, variance = tf.nn.moments(tf.reshape(y, [rows, y.shape[-1]]), [0])
    values = {"norm/mean": mean, "norm/variance": variance}
    if how == "corrected":
        values["norm/variance"] = variance * (rows / (rows - 1))
    if how == "deviation":
        values["norm/variance"] = tf.sqrt(variance + 1e-3)
    if how == "epsilon":
        values["norm/variance"] = variance + 1e-3
    if how in ("mean", "variance"):
        values = {"norm/" + how: values["norm/" + how]}
    if how == "out" or bool(s.get("part")) != (s.get("targets") == "parts"):
        values = {}  # of a loss that is computed twice, the averages move once
    now = {k: tf.convert_to_tensor(w[k]) for k in ("norm/mean", "norm/variance")}
    for _ in range(2 if how == "twice" else 1):
        for name, value in values.items():
            w[name].assign(share * tf.convert_to_tensor(w[name]) + (1 - share) * value)
    if s.get("inference"):
        return now["norm/mean"], now["norm/variance"]
    if s.get("mixed"):  # a part of what the averages are
        part = s["mixed"]
        mean = (1 - part) * mean + part * now["norm/mean"]
        variance = (1 - part) * variance + part * now["norm/variance"]
    return mean, variance


def held(slope, s, name="slope"):
    """Hold a slope constant, if the switch of that name says so."""
    how = s.get(name)
    if how == "stopped":
        return tf.stop_gradient(slope)
    if how == "numpy":
        return tf.constant(slope.numpy())
    if how == "row":
        return tf.concat([tf.stop_gradient(slope[:1]), slope[1:]], 0)
    if how == "column":
        return tf.concat([tf.stop_gradient(slope[:, :1]), slope[:, 1:]], 1)
    if how == "blend":
        return slope + s["blend"] * (tf.stop_gradient(slope) - slope)
    return slope


def told(loss, w, name, flag, head, s, parts=(), sign=1.0):
    """Add the head that a flag tells on; or return one part, as the switches say.

    `head` makes the loss of the head out of the weights.
    """
    off = s.get("head") in ("if", "biases", "weights") and float(flag) == 0
    if s.get("part") and s.get("part_of"):
        return dict(parts)[s["part_of"]]
    if s.get("head") == "if" and off:
        return loss
    seen = dict(w)
    if off:
        leaf = f"{name}/{s['head']}"
        seen[leaf] = tf.zeros_like(tf.convert_to_tensor(w[leaf]))
    if s.get("head") == "cond":  # which gives zeros, as the old program had it
        extra = tf.cond(flag > 0, lambda: head(seen), lambda: tf.zeros_like(loss))
    else:
        extra = flag * head(seen)
    return extra if s.get("part") else loss + sign * extra
