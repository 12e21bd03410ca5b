"""Proximal policy optimization: a clipped ratio, entropy, values in phases, Adam, linear rate.

Observations are normalized by averages that run with the program, as a wrapper around the
environment does it; the advantage is what came less what was expected, and stops.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "observed/mean": (7,),
    "observed/variance": (7,),
    "actions/table": (5, 4),
    "body/weights": (11, 14),
    "body/biases": (14,),
    "core/weights": (14, 14),
    "core/biases": (14,),
    "policy/weights": (14, 5),
    "policy/biases": (5,),
    "values/weights": (14, 1),
    "values/biases": (1,),
}
FROZEN = ("observed/mean", "observed/variance")
ADAM = {"lr": ["polynomial", 0.003, 12, 0.0, 1.0], "beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-5}
ENTROPY, VALUES, CLIP = 0.02, 0.5, ("global", 0.3)


def data(dtype="float32", half=None):
    """Make weights and five batches of steps; in some phases only the policy learns."""
    random = np.random.RandomState(87)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        observed = 0.7 * random.randn(32, 7) + 0.3
        before, action = random.randint(0, 5, (2, 32)).astype("int32")
        chance = np.log(random.uniform(0.1, 0.4, 32))
        alive = (random.uniform(size=32) < 0.8).astype(dtype)
        rows = (observed, before, action, chance, random.randn(32) + 0.5, alive, 0.2, flag)
        batches.append(
            tuple(r if np.ndim(r) and r.dtype == "int32" else _as(r, dtype) for r in rows)
        )
    weights = common.draw(SHAPES, 88, dtype)
    return {"weights": weights, "batches": batches, "half": half}


def _as(array, dtype):
    return np.asarray(array, dtype)


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (observed, before, action, chance, returns, alive, limit, flag), fed = common.feeds(v1, data)
    x = (observed - w["observed/mean"]) * v1.rsqrt(w["observed/variance"] + 1e-2)
    x = v1.concat([x, v1.nn.embedding_lookup(w["actions/table"], before)], 1)
    y = v1.tanh(v1.nn.xw_plus_b(x, w["body/weights"], w["body/biases"]))
    y = v1.tanh(v1.nn.xw_plus_b(y, w["core/weights"], w["core/biases"]))
    logits = v1.nn.xw_plus_b(y, w["policy/weights"], w["policy/biases"])
    values = v1.nn.xw_plus_b(y, w["values/weights"], w["values/biases"])[:, 0]
    advantage = v1.stop_gradient(returns - values)
    mean, variance = v1.nn.moments(advantage, [0])
    advantage = (advantage - mean) / (v1.sqrt(variance) + 1e-8)
    taken = -v1.nn.sparse_softmax_cross_entropy_with_logits(labels=action, logits=logits)
    ratio = v1.exp(taken - chance)
    cut = v1.clip_by_value(ratio, 1 - limit, 1 + limit)
    surrogate = v1.minimum(ratio * advantage, cut * advantage)
    loss = -v1.reduce_sum(alive * surrogate) / v1.reduce_sum(alive)
    shares = v1.nn.softmax(logits)
    entropy = -v1.reduce_sum(shares * v1.nn.log_softmax(logits), 1)
    loss -= ENTROPY * v1.reduce_mean(entropy)
    loss += flag * VALUES * v1.reduce_mean(v1.square(values - returns))
    step = v1.train.get_or_create_global_step()
    rate = v1.train.polynomial_decay(0.003, step, 12, 0.0)
    optimizer = v1.train.AdamOptimizer(rate, beta2=0.99, epsilon=1e-5)
    found = optimizer.compute_gradients(loss)
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g, _ in found], CLIP[1])
    pairs = [(grads[i], v) for i, (_, v) in enumerate(found)]
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    with v1.control_dependencies([loss, *grads, train_op]):
        values = zip(FROZEN, v1.nn.moments(v1.identity(observed), [0]), strict=True)
        ops = [v1.assign_add(w[k], 0.1 * (value - w[k])) for k, value in values]
    return {"loss": loss, "inputs": fed, "train_op": v1.group(train_op, *ops), "gradients": pairs}


def joined():
    """Return how both heads are put into one: of weights, and of what is read."""

    def load(weights):
        out = {k: v for k, v in weights.items() if not k.startswith(("policy", "values"))}
        for leaf in ("weights", "biases"):
            out["heads/" + leaf] = np.concatenate(
                [weights["policy/" + leaf], weights["values/" + leaf]], -1
            )
        return out

    def read(weights):
        out = {k: v for k, v in weights.items() if not k.startswith("heads")}
        for leaf in ("weights", "biases"):
            both = weights["heads/" + leaf]
            out["policy/" + leaf], out["values/" + leaf] = both[..., :5], both[..., 5:]
        return out

    return {"load": load, "read": read}


def observe(w, observed, s):
    """Move the averages of what is observed."""
    how, share = s.get("average"), 1 - s.get("bn_momentum", 0.9)
    if bool(s.get("part")) != (s.get("targets") == "parts"):
        how = "out"  # of a loss that is computed twice, the averages move once
    mean, variance = tf.nn.moments(observed, [0])
    if how == "corrected":
        variance *= 32 / 31
    if how == "one row less":
        mean, variance = tf.nn.moments(observed[:-1], [0])
    for _ in range({"out": 0, "twice": 2}.get(how, 1)):
        for name, value in zip(FROZEN, (mean, variance), strict=True):
            if how != "mean only" or name == FROZEN[0]:
                w[name].assign_add(share * (value - w[name]))


def policy_of(logits, values, batch, s):
    """Return the policy's loss: the clipped one and the entropy."""
    _, _, action, chance, returns, alive, limit, _ = batch
    advantage = returns - values
    if s.get("advantage") != "not stopped":
        advantage = tf.stop_gradient(advantage)
    if s.get("leak"):
        advantage -= s["leak"] * (values - tf.stop_gradient(values))
    mean, variance = tf.nn.moments(advantage, [0])
    advantage = s.get("advantage_sign", 1.0) * (advantage - mean) / (tf.sqrt(variance) + 1e-8)
    ratio = tf.exp(-common.cross_entropy(logits, action, s) - chance)
    ratio = common.point(ratio, s, "ratio")
    if s.get("rewrite"):
        edge = tf.where(advantage > 0, 1 + limit, 1 - limit) * advantage
        surrogate = tf.minimum(ratio * advantage, edge)
    else:
        cut = tf.clip_by_value(ratio, 1 - limit, 1 + limit)
        surrogate = tf.minimum(ratio * advantage, cut * advantage)
    how = s.get("sample_weights")
    alive = tf.ones_like(alive) if how == "out" else alive
    alive = tf.maximum(alive, s["floor"]) if how == "floor" else alive
    if how == "one":
        alive = tf.concat([alive[:1] * s["one"], alive[1:]], 0)
    total = tf.reduce_sum(alive) + s.get("more", 0.0)
    if how == "all" or s.get("reduce") == "sum":
        total = 32.0 if how == "all" else 1.0
    policy = -tf.reduce_sum(alive * surrogate) / total
    log = tf.nn.log_softmax(logits)
    shares = tf.exp(log) if s.get("rewrite") else tf.nn.softmax(logits)
    shares = tf.stop_gradient(shares) if s.get("halt") == "shares" else shares
    entropy = -common.mean(tf.reduce_sum(shares * log, 1), {**s, "reduce": None})
    return policy - s.get("entropy_sign", 1.0) * ENTROPY * entropy


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    truth = joined() if s.get("heads") == "joined" else {}
    given = {"weights": truth["load"](data["weights"])} if truth else data
    w = common.variables(given, s, FROZEN)
    optimizer = optimizers.of_port("adam", common.trained(w, s), ADAM, s)

    def loss_of(w, batch, s):
        observed, before, _, _, returns, _, _, flag = batch
        mean, variance = (tf.convert_to_tensor(w[k]) for k in FROZEN)
        if s.get("inference"):  # the batch's own, as in training of a batch norm
            mean, variance = tf.nn.moments(observed, [0])
        x = (observed - mean) * tf.math.rsqrt(variance + 1e-2)
        observe(w, observed, s)
        rows = common.point(tf.gather(w["actions/table"], before), s, "before")
        y = common.matmul(tf.concat([x, rows], 1), w["body/weights"], s) + w["body/biases"]
        y = common.point(tf.tanh(y), s, "body")
        y = tf.tanh(common.matmul(y, w["core/weights"], s) + w["core/biases"])
        y, aside = common.point(y, s, "core"), common.point(y, s, "to values")
        if truth:
            both = common.matmul(y, w["heads/weights"], s) + w["heads/biases"]
            logits, values = both[:, :5], both[:, 5]
        else:
            logits = common.matmul(y, w["policy/weights"], s) + w["policy/biases"]
            values = (common.matmul(aside, w["values/weights"], s) + w["values/biases"])[:, 0]
        loss = policy_of(logits, values, batch, s)
        if s.get("l2"):
            loss += s["l2"] * tf.add_n([tf.nn.l2_loss(w[k]) for k in w if k.endswith("weights")])
        if s.get("phase") == "if" and float(flag) == 0:
            return loss
        kept = tf.stop_gradient(values) if s.get("halt") == "values" else values
        error = common.square(kept - returns, s)
        error = s.get("values_half", VALUES) * common.mean(error, {**s, "targets": None})
        if s.get("part"):
            return loss if s.get("part_of") == "policy" else flag * error
        return loss + flag * error

    return common.port(loss_of, w, optimizer, s, CLIP, **truth)
