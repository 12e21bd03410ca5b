"""A variational autoencoder: batch norm, missing pixels, a KL weight that warms up, Adam."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "encoder/weights": (10, 12),
    "bn/scale": (12,),
    "bn/offset": (12,),
    "bn/mean": (12,),
    "bn/variance": (12,),
    "mu/weights": (12, 3),
    "mu/biases": (3,),
    "logvar/weights": (12, 3),
    "logvar/biases": (3,),
    "decoder/weights": (3, 12),
    "decoder/biases": (12,),
    "deep/weights": (12, 12),
    "deep/biases": (12,),
    "pixels/weights": (12, 10),
    "pixels/biases": (10,),
}
FROZEN = ("bn/mean", "bn/variance")
ADAM = {"lr": ["inverse", 0.004, 0.3], "beta_1": 0.85, "beta_2": 0.99, "epsilon": 1e-4}
L2, CLIP = 0.003, ("value", 0.1)


def data(dtype="float32", half=None):
    """Make weights and five batches: pixels, how well known, noise, the weight of the KL."""
    random = np.random.RandomState(61)
    batches = []
    for step in range(5):
        latent = random.randn(24, 3)
        pixels = 1 / (1 + np.exp(-2 * latent @ random.randn(3, 10)))
        known = random.choice([0.0, 0.5, 1.0], (24, 10), p=[0.2, 0.3, 0.5])
        rows = pixels, known, random.randn(24, 3), np.array(min(1.0, 0.25 * (step + 1)))
        batches.append(tuple(r.astype(dtype) for r in rows))
    weights = common.draw(SHAPES, 62, dtype)
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (x, known, noise, kl_weight), fed = common.feeds(v1, data)
    y = v1.matmul(x, w["encoder/weights"])
    mean, variance = v1.nn.moments(y, [0])
    for name, new in (("bn/mean", mean), ("bn/variance", variance)):
        op = v1.assign_sub(w[name], (w[name] - new) * 0.05)
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, op)
    y = v1.nn.batch_normalization(y, mean, variance, w["bn/offset"], w["bn/scale"], 1e-3)
    y = v1.nn.softplus(y)
    mu = v1.nn.xw_plus_b(y, w["mu/weights"], w["mu/biases"])
    logvar = v1.nn.xw_plus_b(y, w["logvar/weights"], w["logvar/biases"])
    z = mu + v1.exp(0.5 * logvar) * noise
    h = v1.tanh(v1.nn.xw_plus_b(z, w["decoder/weights"], w["decoder/biases"]))
    h = v1.tanh(v1.nn.xw_plus_b(h, w["deep/weights"], w["deep/biases"]))
    logits = v1.nn.xw_plus_b(h, w["pixels/weights"], w["pixels/biases"])
    bce = v1.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)
    recon = v1.reduce_sum(known * bce, 1)
    kl = -0.5 * v1.reduce_sum(1 + logvar - v1.square(mu) - v1.exp(logvar), 1)
    loss = v1.reduce_mean(recon + kl_weight * kl)
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in ("deep/weights", "pixels/weights")])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.inverse_time_decay(0.004, step, 1, 0.3)
    optimizer = v1.train.AdamOptimizer(rate, 0.85, 0.99, 1e-4)
    found = optimizer.compute_gradients(loss)
    pairs = [(v1.clip_by_value(g, -0.1, 0.1), v) for g, v in found]
    with v1.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def normalize(w, y, s):
    """Normalize over the batch and move the averages."""
    mean, variance = tf.nn.moments(y, [0])
    if s.get("training") is False:
        mean, variance = tf.convert_to_tensor(w["bn/mean"]), tf.convert_to_tensor(w["bn/variance"])
    elif s.get("average") != "out" and not s.get("part"):
        keep, moved = s.get("bn_momentum", 0.95), variance
        moved = variance * 24 / 23 if s.get("average") == "unbiased" else moved
        moved = tf.reduce_mean(y * y, 0) if s.get("average") == "uncentred" else moved
        fresh = {"bn/mean": mean, "bn/variance": moved}
        for k in ("bn/mean",) if s.get("average") == "mean only" else fresh:
            w[k].assign(w[k] * keep + fresh[k] * (1 - keep))
    root = tf.sqrt(variance + s.get("bn_epsilon", 1e-3))
    return (y - mean) / root * w["bn/scale"] + w["bn/offset"]


def likelihood(x, logits, s):
    """Return the cross entropy of each pixel."""
    if s.get("rewrite"):
        return -x * tf.math.log_sigmoid(logits) - (1 - x) * tf.math.log_sigmoid(-logits)
    if "log_eps" in s:  # of probabilities, with a constant in the logarithm
        p, eps = tf.sigmoid(logits), s["log_eps"]
        return -x * tf.math.log(p + eps) - (1 - x) * tf.math.log(1 - p + eps)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)


def penalty(w, s):
    """Return the regularization, halved as l2_loss does."""
    if s.get("l2") == "out":
        return 0.0
    names = [k for k in w if k.endswith("weights")]
    if s.get("l2") != "all":
        names = ["deep/weights", "pixels/weights"][1 if s.get("l2") == "last" else 0 :]
    names += ["pixels/biases"] if s.get("l2") == "biases" else []
    values = [tf.convert_to_tensor(w[k]) for k in names]
    half = 1.0 if s.get("l2") == "no half" else 0.5
    return s.get("l2_factor", 1.0) * L2 * half * tf.add_n([tf.reduce_sum(v * v) for v in values])


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w = common.variables(data, s, FROZEN)
    settings = {**ADAM, **s.get("opt", {})}
    optimizer = optimizers.make("adam", w, settings, s.get("library", "keras"))

    def loss_of(w, batch, s):
        def dense(x, name, s):
            return common.matmul(x, w[name + "/weights"], s) + w[name + "/biases"]

        x, known, noise, kl_weight = batch
        y = tf.nn.softplus(normalize(w, common.matmul(x, w["encoder/weights"], s), s))
        y = common.point(y, s, "code")
        mu, logvar = dense(y, "mu", s), dense(y, "logvar", s)
        spread = common.point(tf.exp(s.get("spread", 0.5) * logvar), s, "spread")
        z = mu if s.get("latent") == "mean" else mu + spread * noise
        z = common.point(z, s, "latent")
        h = common.point(tf.tanh(dense(z, "decoder", s)), s, "decoder")
        h = tf.tanh(dense(h, "deep", s))
        each = likelihood(x, dense(h, "pixels", s), s)
        how = s.get("sample_weights")
        if how == "squared":
            known = known * known
        known = tf.ones_like(known) if how == "out" else known
        known = tf.cast(known > 0, x.dtype) if how == "flags" else known
        known = tf.maximum(known, s.get("floor", 0.0)) if how == "floor" else known
        recon = tf.reduce_sum(known * each, 1)
        if how == "counted":  # divided by how much is known
            recon = recon / tf.reduce_sum(known, 1) * x.shape[1]
        recon = tf.reduce_mean(known * each, 1) if s.get("pixels") == "mean" else recon
        terms = 1 + logvar - common.square(mu, s) - tf.exp(logvar)
        kl = -0.5 * s.get("kl_sign", 1.0) * common.point(tf.reduce_sum(terms, 1), s, "kl")
        kl = kl / 3 if s.get("kl") == "mean" else kl
        kl = s.get("kl_factor", 1.0) * kl
        if s.get("part"):
            return tf.reduce_mean(kl) if s.get("part_of") != "l2" else penalty(w, s)
        return common.mean(recon + s.get("kl_weight", kl_weight) * kl, s) + penalty(w, s)

    return common.port(loss_of, w, optimizer, s, CLIP)
