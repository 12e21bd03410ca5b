"""A translator: GRU encoder, GRU decoder with Luong's attention, one table for both languages.

The loss is summed over the tokens and divided by their number, the kernels are decayed in the
loss, gradients are clipped by the global norm (as `clip_by_global_norm` does it, of slices that
are not summed yet), and the rate warms up and then falls with the root of the step.
"""

import numpy as np
import tensorflow as tf

from trials import common
from trials.models.seq2seq_steps import (
    CLIP,
    RATE,
    UNITS,
    VOCABULARY,
    WARMUP,
    clip,
    optimizer_of,
    summed,
    unscaled,
)

PAD, GO, EOS = 0, 1, 2
CELL = {"gates/kernel": (16, 16), "gates/bias": (16,), "candidate/kernel": (16, 8)}
CELL["candidate/bias"] = (8,)
SHAPES = {"embedding/table": (VOCABULARY, UNITS)}
SHAPES.update({"encoder/gru_cell/" + k: v for k, v in CELL.items()})
SHAPES.update({"bridge/kernel": (8, 8)})
SHAPES.update({"decoder/gru_cell/" + k: v for k, v in CELL.items()})
SHAPES.update(
    {
        "decoder/memory_layer/kernel": (8, 8),
        "decoder/attention_layer/kernel": (16, 8),
        "decoder/layer_norm/beta": (8,),
        "decoder/layer_norm/gamma": (8,),
        "decoder/output_projection/kernel": (8, VOCABULARY),
        "decoder/output_projection/bias": (VOCABULARY,),
    }
)
L2 = 5e-4


def data(dtype="float32", half=None):
    """Make weights and five batches of sentences, padded with zeros."""
    random = np.random.RandomState(31)
    batches = []
    for _ in range(5):
        source, target = np.zeros((6, 7), "int32"), np.zeros((6, 6), "int32")
        lengths = random.randint(3, 8, 6).astype("int32")
        for row in range(6):
            words = random.geometric(0.2, lengths[row]) + 2
            source[row, : lengths[row]] = np.minimum(words, VOCABULARY - 1)
            n = random.randint(2, 6)
            target[row, :n] = np.minimum(random.geometric(0.2, n) + 2, VOCABULARY - 1)
            target[row, n] = EOS
        shifted = np.concatenate([np.full((6, 1), GO, "int32"), target[:, :-1]], 1)
        shifted[target == PAD] = PAD
        batches.append((source, lengths, shifted, target))
    weights = common.draw(SHAPES, 32, dtype)
    weights["embedding/table"] *= 1.5
    weights["decoder/layer_norm/gamma"] += 1
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program, in scopes."""
    first = data["weights"]
    kind = first["embedding/table"].dtype
    (source, lengths, inputs, targets), fed = common.feeds(v1, data)

    def get(name):
        full = v1.get_variable_scope().name
        value = first[full + "/" + name]
        return v1.get_variable(name, value.shape, value.dtype.name, v1.constant_initializer(value))

    def gru(x, h):
        with v1.variable_scope("gru_cell", reuse=v1.AUTO_REUSE):
            with v1.variable_scope("gates"):
                kernel, bias = get("kernel"), get("bias")
            r, u = v1.split(v1.sigmoid(v1.matmul(v1.concat([x, h], 1), kernel) + bias), 2, 1)
            with v1.variable_scope("candidate"):
                kernel, bias = get("kernel"), get("bias")
            c = v1.tanh(v1.matmul(v1.concat([x, r * h], 1), kernel) + bias)
        return u * h + (1 - u) * c

    with v1.variable_scope("embedding"):
        table = get("table")
    source_emb = v1.nn.embedding_lookup(table, source)
    target_emb = v1.nn.embedding_lookup(table, inputs)
    mask = v1.sequence_mask(lengths, 7)
    with v1.variable_scope("encoder"):
        state = v1.zeros([6, UNITS], kind)
        outputs = []
        for t in range(7):
            output = gru(source_emb[:, t], state)
            outputs.append(v1.where(mask[:, t], output, v1.zeros_like(output)))
            state = v1.where(mask[:, t], output, state)
        memory = v1.stack(outputs, 1)
    with v1.variable_scope("bridge"):
        state = v1.tanh(v1.matmul(state, get("kernel")))
    with v1.variable_scope("decoder"):
        with v1.variable_scope("memory_layer"):
            keys = v1.tensordot(memory, get("kernel"), [[2], [0]])
        attentions = []
        for t in range(6):
            state = gru(target_emb[:, t], state)
            scores = v1.squeeze(v1.matmul(v1.expand_dims(state, 1), keys, transpose_b=True), 1)
            scores += (1.0 - v1.cast(mask, kind)) * -1e9
            align = v1.nn.softmax(scores)
            context = v1.reduce_sum(v1.expand_dims(align, 2) * memory, 1)
            attentions.append(v1.concat([state, context], 1))
        flat = v1.reshape(v1.stack(attentions, 1), [-1, 2 * UNITS])
        with v1.variable_scope("attention_layer"):
            flat = v1.tanh(v1.matmul(flat, get("kernel")))
        with v1.variable_scope("layer_norm"):
            mean, variance = v1.nn.moments(flat, [-1], keep_dims=True)
            beta, gamma = get("beta"), get("gamma")
            flat = (flat - mean) * v1.rsqrt(variance + 1e-6) * gamma + beta
        with v1.variable_scope("output_projection"):
            logits = v1.nn.xw_plus_b(flat, get("kernel"), get("bias"))
    crossent = v1.nn.sparse_softmax_cross_entropy_with_logits(
        labels=v1.reshape(targets, [-1]), logits=logits
    )
    weights = v1.cast(v1.not_equal(v1.reshape(targets, [-1]), PAD), kind)
    loss = v1.reduce_sum(crossent * weights) / v1.reduce_sum(weights)
    params = v1.trainable_variables()
    kernels = [v for v in params if v.op.name.endswith("kernel")]
    loss = loss + L2 * v1.add_n([v1.nn.l2_loss(v) for v in kernels])

    global_step = v1.train.get_or_create_global_step()
    step = v1.cast(global_step + 1, v1.float32)
    rate = RATE * UNITS**-0.5 * v1.minimum(step**-0.5, step * WARMUP**-1.5)
    optimizer = v1.train.AdamOptimizer(rate, beta1=0.9, beta2=0.98, epsilon=1e-8)
    gradients = v1.gradients(loss, params)
    clipped, _ = v1.clip_by_global_norm(gradients, CLIP)
    pairs = list(zip(clipped, params))  # noqa: B905
    train_op = optimizer.apply_gradients(pairs, global_step=global_step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


# ---------------------------------------------------------------- the port


def to_cells(weights):
    """Turn the gates r, u and the candidate into kernels z, r, h for inputs and for states."""
    out = {k: v for k, v in weights.items() if "gru_cell" not in k}
    for side in ("encoder", "decoder"):
        at = side + "/gru_cell/"
        gates, last = weights[at + "gates/kernel"], weights[at + "candidate/kernel"]
        whole = np.concatenate([gates[:, 8:], gates[:, :8], last], 1)
        out[side + "/gru/kernel"], out[side + "/gru/recurrent_kernel"] = whole[:8], whole[8:]
        bias = weights[at + "gates/bias"]
        out[side + "/gru/bias"] = np.concatenate(
            [bias[8:], bias[:8], weights[at + "candidate/bias"]]
        )
    return out


def from_cells(weights):
    """Turn them back."""
    out = {k: v for k, v in weights.items() if "/gru/" not in k}
    for side in ("encoder", "decoder"):
        at = side + "/gru_cell/"
        parts = [weights[side + "/gru/kernel"], weights[side + "/gru/recurrent_kernel"]]
        whole, bias = np.concatenate(parts, 0), weights[side + "/gru/bias"]
        out[at + "gates/kernel"] = np.concatenate([whole[:, 8:16], whole[:, :8]], 1)
        out[at + "candidate/kernel"] = whole[:, 16:]
        out[at + "gates/bias"] = np.concatenate([bias[8:16], bias[:8]])
        out[at + "candidate/bias"] = bias[16:]
    return out


def cell_of(w, side, s):
    """Return the function that takes a GRU's step."""
    if s.get("cells"):
        x_kernel, h_kernel = w[side + "/gru/kernel"], w[side + "/gru/recurrent_kernel"]
        bias = w[side + "/gru/bias"]

        def step(x, h):
            z, r, c = tf.split(tf.matmul(x, x_kernel) + bias, 3, 1)
            h_z, h_r, _ = tf.split(tf.matmul(h, h_kernel), 3, 1)
            z, r = tf.sigmoid(z + h_z), tf.sigmoid(r + h_r)
            c = tf.tanh(c + tf.matmul(r * h, tf.convert_to_tensor(h_kernel)[:, 16:]))
            return h + (1 - z) * (c - h)

        return step
    at = side + "/gru_cell/"

    def step(x, h):
        gates = tf.sigmoid(
            tf.matmul(tf.concat([x, h], 1), w[at + "gates/kernel"]) + w[at + "gates/bias"]
        )
        r, u = gates[:, :8], gates[:, 8:]
        if s.get("gates") == "exchanged":
            r, u = u, r
        kernel = tf.convert_to_tensor(w[at + "candidate/kernel"])
        if s.get("reset") == "after" and side == s.get("reset_in", side):
            c = tf.matmul(x, kernel[:8]) + r * tf.matmul(h, kernel[8:])
        else:
            c = tf.matmul(tf.concat([x, r * h], 1), kernel)
        c = tf.tanh(c + w[at + "candidate/bias"])
        return u * h + (1 - u) * c

    return step


def norm_of(x, w, s):
    """Normalize the rows."""
    epsilon = s.get("norm_epsilon", 1e-6)
    centred = x - tf.reduce_mean(x, -1, keepdims=True)
    n = 7.0 if s.get("norm_variance") == "unbiased" else 8.0
    variance = tf.reduce_sum(centred * centred, -1, keepdims=True) / n
    gamma, beta = w["decoder/layer_norm/gamma"], w["decoder/layer_norm/beta"]
    return centred / tf.sqrt(variance + epsilon) * gamma + beta


def lookup(table, ids, s):
    """Look the words up."""
    if s.get("lookup") == "one-hot":
        return tf.einsum("btv,vd->btd", tf.one_hot(ids, VOCABULARY, dtype=table.dtype), table)
    return tf.gather(table, ids)


def encode(w, source, lengths, s):
    """Return what the encoder remembers, its last state and the mask."""
    kind = w["embedding/table"].dtype
    x = lookup(w["embedding/table"], source, s)
    x = stop(x, "source", s)
    if s.get("dropout"):
        x = tf.nn.dropout(x, s["dropout"], seed=4)
    step = cell_of(w, "encoder", s)
    mask = tf.cast(tf.sequence_mask(lengths, 7), kind)
    if s.get("source_mask") == "from words":
        mask = tf.cast(source > PAD, kind)
    if s.get("source_mask") == "one more":
        mask = tf.cast(tf.sequence_mask(lengths + 1, 7), kind)
    h, outputs = tf.zeros([source.shape[0], UNITS], kind), []
    for t in range(7):
        keep = mask[:, t : t + 1]
        after = step(x[:, t], h)
        outputs.append(after if s.get("memory") == "not masked" else after * keep)
        h = after if s.get("state") == "runs on" else keep * after + (1 - keep) * h
    return tf.stack(outputs, 1), h, mask


def stop(x, name, s):
    """Stop the gradient at one place."""
    if s.get("stop") != name:
        return x
    return tf.constant(x.numpy()) if s.get("through") == "numpy" else tf.stop_gradient(x)


def decode(w, memory, h, mask, inputs, s):
    """Return the logits of all positions."""
    bridge = w["bridge/kernel"]
    h = stop(h, "bridge", s)
    h = tf.tanh(tf.matmul(h, bridge, transpose_b=s.get("turned") == "bridge"))
    how = "bsd,ed->bse" if s.get("turned") == "memory" else "bsd,de->bse"
    memory = stop(memory, "memory", s)
    keys = tf.einsum(how, memory, w["decoder/memory_layer/kernel"])
    x = lookup(w["embedding/table"], inputs, s)
    x = stop(x, "target", s)
    if s.get("dropout_target"):
        x = tf.nn.dropout(x, s["dropout_target"], seed=5)
    step, states = cell_of(w, "decoder", s), []
    for t in range(6):
        h = step(x[:, t], h)
        states.append(h)
    states = tf.stack(states, 1)
    scores = tf.einsum("btd,bsd->bts", states, keys)
    if s.get("scores") == "scaled":
        scores = scores / UNITS**0.5
    if s.get("attention_mask") != "out":
        scores += (1 - mask[:, None]) * s.get("attention_mask", -1e9)
    align = stop(tf.nn.softmax(scores), "align", s)
    context = tf.einsum("bts,bsd->btd", align, memory)
    both = tf.concat([states, context], -1)
    out = tf.tanh(tf.einsum("btd,de->bte", both, w["decoder/attention_layer/kernel"]))
    out = norm_of(out, w, s)
    kernel, bias = w["decoder/output_projection/kernel"], w["decoder/output_projection/bias"]
    return tf.einsum("btd,dv->btv", out, kernel) + bias


def losses_of(logits, targets, s):
    """Return a loss for each token."""
    smooth = s.get("smoothing", 0.0)
    if smooth or s.get("log"):
        right = tf.one_hot(targets, VOCABULARY, dtype=logits.dtype)
        right = right * (1 - smooth) + smooth / VOCABULARY
        return -tf.reduce_sum(right * tf.nn.log_softmax(logits), -1)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)


def reduce(losses, targets, s):
    """Take the mean over the tokens, or what is taken for it."""
    kind = losses.dtype
    weights = tf.cast(tf.not_equal(targets, PAD), kind)
    how = s.get("tokens")
    if how == "padding too":
        weights = tf.ones_like(weights)
    if how == "end left out":
        weights *= tf.cast(tf.not_equal(targets, EOS), kind)
    if how == "end weighs":
        weights *= 1 + s["more"] * tf.cast(tf.equal(targets, EOS), kind)
    if how == "sentences":  # a mean for each sentence, then over them
        each = tf.reduce_sum(losses * weights, 1) / tf.reduce_sum(weights, 1)
        return tf.reduce_mean(each)
    total, number = tf.reduce_sum(losses * weights), tf.reduce_sum(weights)
    by = s.get("divided_by")
    if by == "sentences":
        number = tf.cast(tf.shape(targets)[0], kind)
    if by == "positions":
        number = tf.cast(tf.size(targets), kind)
    return total / (number + s.get("more_tokens", 0.0))


def decay_of(w, s):
    """Return the decay that is part of the loss."""
    how, total = s.get("l2", "kernels"), 0.0
    for k, v in w.items():
        term = tf.nn.l2_loss(tf.convert_to_tensor(v))
        taken = k.endswith("kernel")
        if how == "all":
            taken = True
        if how == "dense layers":
            taken = taken and "gru" not in k
        if how == "out":
            taken = False
        if taken:
            total += term * (2.0 if how == "not halved" else 1.0)
    return L2 * s.get("l2_factor", 1.0) * total


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    weights, truth = data["weights"], {}
    if s.get("cells"):
        weights, truth = to_cells(weights), {"load": to_cells, "read": from_cells}
    w = common.variables({"weights": weights}, s)
    optimizer = optimizer_of(w, s)
    chosen = {k: v for k, v in w.items() if v.trainable and k != s.get("forgotten")}
    listed = [k for k, v in w.items() if v.trainable]

    def objective(source, lengths, inputs, targets):
        memory, h, mask = encode(w, source, lengths, s)
        logits = decode(w, memory, h, mask, inputs, s)
        losses = losses_of(logits, targets, s)
        loss = reduce(losses, targets, s) + decay_of(w, s)
        return loss * s.get("replicas", 1.0), losses, targets

    def gradients(*batch):
        if s.get("micro"):  # each part divided by its own number of tokens
            parts = zip(*[tf.split(b, s["micro"]) for b in batch], strict=True)
            found = [differentiate(*part) for part in parts]
            loss = tf.add_n([f[0] for f in found]) / len(found)
            grads = {
                k: tf.add_n([tf.convert_to_tensor(f[1][k]) for f in found]) / len(found)
                for k in found[0][1]
            }
            return loss, grads
        return differentiate(*batch)

    def differentiate(*batch):
        scale = s.get("scale", 1.0)
        with tf.GradientTape() as tape:
            loss, losses, targets = objective(*batch)
            target = loss * scale
            if s.get("target") == "token losses":
                target = [losses * tf.cast(targets != PAD, losses.dtype), decay_of(w, s)]
        found = tape.gradient(target, list(chosen.values()))
        return loss, dict(zip(chosen, found, strict=True))

    def finish(grads):
        if "exchange" in s:
            for one, two in s["exchange"]:
                grads[one], grads[two] = grads[two], grads[one]
        scale = s.get("scale", 1.0)
        if scale != 1.0 and s.get("unscale") == "before":
            grads = {k: unscaled(g, scale) for k, g in grads.items()}
        if "slices" in s:
            grads = {k: summed(g, s["slices"]) for k, g in grads.items()}
        grads = clip(grads, s)
        if scale != 1.0 and s.get("unscale") == "after":
            grads = {k: tf.convert_to_tensor(g) / scale for k, g in grads.items()}
        if s.get("reduced") is not None:
            grads = {k: tf.convert_to_tensor(g) * s["reduced"] for k, g in grads.items()}
        if s.get("flip"):
            grads = {
                k: -tf.convert_to_tensor(g) if k.startswith(s["flip"]) else g
                for k, g in grads.items()
            }
        if not s.get("keep_slices"):
            grads = {k: tf.convert_to_tensor(g) for k, g in grads.items()}
        return grads

    def step(*batch):
        loss, grads = gradients(*[tf.convert_to_tensor(b) for b in batch])
        grads = finish(grads)
        optimizer.apply_gradients([(g, w[k]) for k, g in grads.items() if k != s.get("skip")])
        return loss, [grads.get(k) for k in listed]

    out = common.finish(common.wrapped(step, s), w, optimizer, s, **truth)
    if s.get("library") in ("hand", "v1"):
        out["optimizer"] = None
    return out
