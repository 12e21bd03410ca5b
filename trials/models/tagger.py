"""A tagger with a linear-chain CRF, trained against its own worst noise: Adagrad, clipped.

The noise is the direction of the loss by the rows looked up, and TensorFlow 1 differentiates
through it, as nobody stopped it.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

TIME, TAGS = 5, 6
SHAPES = {
    "words/table": (30, 6),
    "capitals/table": (4, 3),
    "window/weights": (27, 12),
    "window/biases": (12,),
    "deep/weights": (12, 12),
    "deep/biases": (12,),
    "tags/weights": (12, TAGS),
    "tags/biases": (TAGS,),
    "crf/transitions": (TAGS, TAGS),
    "crf/start": (TAGS,),
    "crf/end": (TAGS,),
}
KERNELS = ("window/weights", "deep/weights", "tags/weights")
ADAGRAD = {"lr": [0.3, 2, 0.8, True], "start": 0.1, "epsilon": 0.0}
L2, NOISE, SHARE, CLIP = 0.01, 0.5, 0.5, ("global", 0.8)


def data(dtype="float32", half=None):
    """Make weights and five batches: words, their capitals, tags, lengths, trust in each."""
    random = np.random.RandomState(81)
    batches = []
    for _ in range(5):
        words = np.minimum(random.geometric(0.1, (12, TIME)), 29).astype("int32")
        capitals = random.randint(0, 4, (12, TIME)).astype("int32")
        tags = random.randint(0, TAGS, (12, TIME)).astype("int32")
        lengths = random.randint(2, TIME + 1, 12).astype("int32")
        batches.append((words, capitals, tags, lengths, random.choice([0.5, 1, 2], 12)))
    batches = [(*b[:4], b[4].astype(dtype)) for b in batches]
    return {"weights": common.draw(SHAPES, 82, dtype), "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (words, capitals, tags, lengths, trust), fed = common.feeds(v1, data)
    mask = v1.sequence_mask(lengths, TIME, dtype=trust.dtype)
    rows = v1.nn.embedding_lookup(w["words/table"], words)
    case = v1.nn.embedding_lookup(w["capitals/table"], capitals)

    def losses_of(rows):
        x = v1.concat([rows, case], 2)
        pad = v1.pad(x, [[0, 0], [1, 1], [0, 0]])
        x = v1.reshape(v1.concat([pad[:, :-2], x, pad[:, 2:]], 2), [-1, 27])
        y = v1.tanh(v1.nn.xw_plus_b(x, w["window/weights"], w["window/biases"]))
        y = v1.tanh(v1.nn.xw_plus_b(y, w["deep/weights"], w["deep/biases"]))
        y = v1.nn.xw_plus_b(y, w["tags/weights"], w["tags/biases"])
        unary, hot = v1.reshape(y, [-1, TIME, TAGS]), v1.one_hot(tags, TAGS, dtype=y.dtype)
        alpha = unary[:, 0] + w["crf/start"]
        score = v1.reduce_sum(hot[:, 0] * alpha, 1)
        for t in range(1, TIME):
            fresh = v1.reduce_logsumexp(alpha[:, :, None] + w["crf/transitions"], 1) + unary[:, t]
            alpha = v1.where(v1.tile(mask[:, t : t + 1] > 0, [1, TAGS]), fresh, alpha)
            step = v1.matmul(hot[:, t - 1], w["crf/transitions"]) + unary[:, t]
            score += mask[:, t] * v1.reduce_sum(hot[:, t] * step, 1)
        last = v1.one_hot(v1.batch_gather(tags, lengths[:, None] - 1)[:, 0], TAGS, dtype=y.dtype)
        score += v1.reduce_sum(last * w["crf/end"], 1)
        return v1.reduce_logsumexp(alpha + w["crf/end"], 1) - score

    plain = losses_of(rows)
    worst = v1.gradients(v1.reduce_mean(trust * plain), [rows])[0]
    worst *= mask[:, :, None]
    noise = worst / v1.sqrt(v1.reduce_sum(v1.square(worst), [1, 2], keepdims=True) + 1e-8)
    loss = v1.reduce_mean(trust * (plain + SHARE * losses_of(rows + NOISE * noise)))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.3, step, 2, 0.8, staircase=True)
    optimizer = v1.train.AdagradOptimizer(rate, 0.1)
    grads, sources = zip(*optimizer.compute_gradients(loss), strict=True)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g in grads], CLIP[1])
    pairs = list(zip(grads, sources, strict=True))
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def losses_of(w, rows, case, batch, s):
    """Return the negative log likelihood of each sentence."""
    _, _, tags, lengths, _ = batch
    mask = tf.sequence_mask(lengths, TIME, dtype=rows.dtype)
    x = tf.concat([rows, case], 2)
    pad = tf.pad(x, [[0, 0], [1, 1], [0, 0]])
    around = [pad[:, 2:], x, pad[:, :-2]] if s.get("mirror") else [pad[:, :-2], x, pad[:, 2:]]
    y = tf.reshape(tf.concat(around, 2), [-1, 27])
    y = tf.tanh(common.matmul(y, w["window/weights"], s) + w["window/biases"])
    y = common.point(y, s, "window")
    y = tf.tanh(common.matmul(y, w["deep/weights"], s) + w["deep/biases"])
    y = common.matmul(common.point(y, s, "deep"), w["tags/weights"], s) + w["tags/biases"]
    unary = common.point(tf.reshape(y, [-1, TIME, TAGS]), s, "unary")
    hot, moves = tf.one_hot(tags, TAGS, dtype=y.dtype), tf.convert_to_tensor(w["crf/transitions"])
    truth_moves = tf.stop_gradient(moves) if s.get("halt") == "truth" else moves
    turned = tf.transpose(moves) if s.get("backwards") else moves
    start, end = w["crf/start"], w["crf/end"]
    alpha = unary[:, 0] + start
    score = tf.reduce_sum(hot[:, 0] * (unary[:, 0] + start), 1)
    for t in range(1, TIME):
        both = alpha[:, :, None] + turned
        if s.get("rewrite"):
            most = tf.stop_gradient(tf.reduce_max(both, 1, keepdims=True))
            fresh = tf.math.log(tf.reduce_sum(tf.exp(both - most), 1)) + most[:, 0]
        else:
            fresh = tf.reduce_logsumexp(both, 1)
        alpha = tf.where(mask[:, t : t + 1] > 0, fresh + unary[:, t], alpha)
        if t == s.get("cut"):
            alpha = tf.stop_gradient(alpha)
        step = tf.matmul(hot[:, t - 1], truth_moves) + unary[:, t]
        score += mask[:, t] * tf.reduce_sum(hot[:, t] * step, 1)
    last = tf.one_hot(tf.gather(tags, lengths - 1, batch_dims=1), TAGS, dtype=y.dtype)
    score += tf.reduce_sum(last * end, 1)
    return (tf.reduce_logsumexp(alpha + end, 1) - score) * s.get("nll_sign", 1.0)


def weigh(losses, trust, s):
    """Reduce the losses of the sentences to one."""
    how = s.get("sample_weights")
    if how == "out":
        return common.mean(losses, s)
    if how == "one":
        trust = tf.concat([trust[:-1], trust[-1:] * s["one"]], 0)
    if how == "cut":
        trust = tf.minimum(trust, s["cut_at"])
    if how == "sum":  # as a layer's loss that divides by the weights
        return tf.reduce_sum(trust * losses) / tf.reduce_sum(trust)
    return common.mean(trust * losses, s)


def noise_of(w, rows, case, batch, s):
    """Return the direction in which the loss grows most."""
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(rows)
        losses = losses_of(w, rows, case, batch, s)
        target = weigh(losses, batch[4], {**s, "reduce": None, "targets": None})
    worst = tape.gradient(target, rows)
    worst *= tf.sequence_mask(batch[3], TIME, dtype=rows.dtype)[:, :, None]
    how = s.get("worst")
    if how == "stopped":
        worst = tf.stop_gradient(worst)
    if how == "numpy":
        worst = tf.constant(worst.numpy())
    if how == "half":
        worst = tf.concat([tf.stop_gradient(worst[:6]), worst[6:]], 0)
    if how == "blend":
        worst += s["blend"] * (tf.stop_gradient(worst) - worst)
    size = tf.reduce_sum(common.square(worst, s), [1, 2], keepdims=True)
    size = tf.stop_gradient(size) if how == "size" else size
    return s.get("noise_sign", 1.0) * NOISE * worst / tf.sqrt(size + 1e-8)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w = common.variables(data, s)
    optimizer = optimizers.of_port("adagrad", w, ADAGRAD, s)

    def loss_of(w, batch, s):
        words, capitals, _, _, trust = batch
        decays = [tf.reduce_sum(common.square(tf.convert_to_tensor(w[k]), s)) for k in KERNELS]
        decay = s.get("l2", L2) * s.get("l2_half", 0.5) * tf.add_n(decays)
        rows = common.point(tf.gather(w["words/table"], words), s, "words")
        case = common.point(tf.gather(w["capitals/table"], capitals), s, "capitals")
        plain = losses_of(w, rows, case, batch, s)
        noise = noise_of(w, rows, case, batch, s)
        behind = tf.stop_gradient(rows) if s.get("halt") == "rows" else rows
        other = losses_of(w, behind + noise, case, batch, s)
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else weigh(SHARE * other, trust, s)
        return weigh(plain + SHARE * other, trust, s) + decay

    return common.port(loss_of, w, optimizer, s, CLIP)
