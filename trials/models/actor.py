"""An actor-critic on windows of a signal, with a latent that is sampled by noise from outside.

The observation is normalized over the batch, filtered in the frequency domain, and encoded. The
policy goes through a reparametrized latent (whose divergence has a weight that is fed, as it
grows from step to step); of the two critics' heads a flag takes one. The policy's part has Adam
and is clipped, the critic's has RMSProp with momentum and a rate that falls linearly, and a
penalty of the gradient of its values. The critic does not train the encoder.
"""

import numpy as np
import tensorflow as tf

from trials import common
from trials.models.actor_steps import ADAM, RMSPROP, STEPS, optimizers_of

N, SIZE, ACTIONS = 16, 8, 3
SHAPES = {
    "encoder/obs_norm/gamma": (SIZE,),
    "encoder/obs_norm/beta": (SIZE,),
    "encoder/obs_norm/moving_mean": (SIZE,),
    "encoder/obs_norm/moving_variance": (SIZE,),
    "encoder/filter/real": (SIZE,),
    "encoder/filter/imag": (SIZE,),
    "encoder/fc/w": (2 * SIZE, 10),
    "encoder/fc/b": (10,),
    "pi/latent/w": (10, 8),
    "pi/latent/b": (8,),
    "pi/logits/w": (4, ACTIONS),
    "pi/logits/b": (ACTIONS,),
    "vf/fc/w": (10, 10),
    "vf/fc/b": (10,),
    "vf/head0/w": (10, 1),
    "vf/head0/b": (1,),
    "vf/head1/w": (10, 1),
    "vf/head1/b": (1,),
}
FROZEN = ("encoder/obs_norm/moving_mean", "encoder/obs_norm/moving_variance")
GROUPS = {"pi": ("encoder", "pi"), "vf": ("vf",)}
CLIP, ENTROPY, PENALTY, KEEP = 0.5, 0.01, 0.5, 0.9


def data(dtype="float32", half=None):
    """Make weights and five batches of a rollout."""
    random = np.random.RandomState(41)
    batches = []
    for step, head in enumerate((0, 1, 1, 0, 1)):
        obs = random.randn(N, SIZE) * np.linspace(0.5, 2, SIZE) + np.linspace(-1, 1, SIZE)
        returns = np.tanh(obs[:, 0] - obs[:, 3]) + 0.3 * random.randn(N) + 1.5
        batches.append(
            (
                obs.astype(dtype),
                random.randn(N, 4).astype(dtype),
                random.randint(0, ACTIONS, N).astype("int32"),
                returns.astype(dtype),
                random.choice([0.25, 0.6, 1.0], N).astype(dtype),
                np.array(head, "int32"),
                np.array(0.05 * min(1.0, (step + 1) / 4), dtype),
            )
        )
    weights = common.draw(SHAPES, 42, dtype)
    for name in ("encoder/obs_norm/gamma", "encoder/obs_norm/moving_variance"):
        weights[name] = np.abs(1 + weights[name])
    weights["encoder/filter/real"] = (weights["encoder/filter/real"] * 5 + 0.6).astype(dtype)
    weights["encoder/filter/imag"] = (weights["encoder/filter/imag"] * 5).astype(dtype)
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program: losses by name, two optimizers, updates by collection."""
    first = data["weights"]
    kind = first["pi/logits/b"].dtype
    obs_ph, noise_ph, act_ph, ret_ph, is_ph, head_ph, klw_ph = (
        v1.placeholder(a.dtype, a.shape) for a in data["batches"][0]
    )
    phs = [obs_ph, noise_ph, act_ph, ret_ph, is_ph, head_ph, klw_ph]
    feeds = [dict(zip(phs, batch)) for batch in data["batches"]]  # noqa: B905

    def var(name, trainable=True):
        value = first[v1.get_variable_scope().name + "/" + name]
        init = v1.constant_initializer(value)
        return v1.get_variable(name, value.shape, value.dtype.name, init, trainable=trainable)

    def fc(x, scope):
        with v1.variable_scope(scope):
            return v1.nn.xw_plus_b(x, var("w"), var("b"))

    with v1.variable_scope("encoder"):
        with v1.variable_scope("obs_norm"):
            mean, variance = v1.nn.moments(obs_ph, [0])
            for name, value in (("moving_mean", mean), ("moving_variance", variance)):
                moving = var(name, trainable=False)
                op = v1.assign_sub(moving, (moving - value) * (1 - KEEP))
                v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, op)
            x = v1.nn.batch_normalization(obs_ph, mean, variance, var("beta"), var("gamma"), 1e-5)
            z = x
        with v1.variable_scope("filter"):
            response = v1.complex(var("real"), var("imag"))
        spectrum = v1.fft(v1.complex(x, v1.zeros_like(x))) * response
        y = v1.ifft(spectrum)
        x = v1.concat([v1.real(y), v1.imag(y)], 1)
        features = v1.nn.elu(fc(x, "fc"))
    with v1.variable_scope("pi"):
        mu, logvar = v1.split(fc(features, "latent"), 2, 1)
        latent = mu + v1.exp(0.5 * logvar) * noise_ph
        logits = fc(v1.tanh(latent), "logits")
    with v1.variable_scope("vf"):
        hidden = v1.nn.relu(fc(features, "fc"))
        heads = v1.concat([fc(hidden, "head0"), fc(hidden, "head1")], 1)
        values = v1.reduce_sum(heads * v1.one_hot(head_ph, 2, dtype=kind), 1)

    neglogp = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=act_ph, logits=logits)
    adv = v1.stop_gradient(ret_ph - values)
    p = v1.nn.softmax(logits)
    entropy = v1.reduce_mean(-v1.reduce_sum(p * v1.nn.log_softmax(logits), 1))
    kl = -0.5 * v1.reduce_sum(1 + logvar - v1.square(mu) - v1.exp(logvar), 1)
    pi_loss = v1.reduce_mean(is_ph * adv * neglogp) - ENTROPY * entropy
    pi_loss += klw_ph * v1.reduce_mean(kl)
    slope = v1.gradients(values, z)[0]
    penalty = v1.reduce_mean(v1.reduce_sum(v1.square(slope), 1))
    vf_loss = 0.5 * v1.reduce_mean(is_ph * v1.square(ret_ph - values)) + PENALTY * penalty

    global_step = v1.Variable(0, trainable=False, name="global_step", dtype="int64")
    rate = v1.train.polynomial_decay(RMSPROP["lr"], global_step, STEPS, 0.0)
    pi_vars = [v for v in v1.trainable_variables() if v.op.name.split("/")[0] in GROUPS["pi"]]
    vf_vars = v1.trainable_variables("vf")
    pi_opt = v1.train.AdamOptimizer(ADAM["lr"], epsilon=1e-5)
    vf_opt = v1.train.RMSPropOptimizer(rate, decay=0.95, momentum=0.8, epsilon=1e-5)
    grads, _ = v1.clip_by_global_norm(v1.gradients(pi_loss, pi_vars), CLIP)
    pi_pairs = [(grads[i], v) for i, v in enumerate(pi_vars)]
    vf_pairs = vf_opt.compute_gradients(vf_loss, vf_vars)
    ready = [g for g, _ in pi_pairs + vf_pairs]
    with v1.control_dependencies(ready + v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        pi_train = pi_opt.apply_gradients([(v1.identity(g), v) for g, v in pi_pairs])
        vf_train = vf_opt.apply_gradients(
            [(v1.identity(g), v) for g, v in vf_pairs], global_step=global_step
        )
    return {
        "loss": {"policy": pi_loss, "value": vf_loss},
        "inputs": feeds,
        "train_op": v1.group(pi_train, vf_train),
        "gradients": pi_pairs + vf_pairs,
    }


# ---------------------------------------------------------------- the port


@tf.custom_gradient
def multiply_by_hand(a, b):
    """Multiply complex numbers; the gradient as for real ones."""

    def back(up):
        return up * b, tf.reduce_sum(up * a, 0)

    return a * b, back


@tf.custom_gradient
def inverse_by_hand(x):
    """Transform back; the gradient is what was transformed, without the conjugate."""

    def back(up):
        return tf.signal.ifft(up)

    return tf.signal.ifft(x), back


@tf.custom_gradient
def join_by_hand(a, b):
    """Make complex numbers of two parts; the gradient's imaginary part is that of the conjugate."""

    def back(up):
        return tf.math.real(up), -tf.math.imag(up)

    return tf.complex(a, b), back


class Port:
    """The port's network and losses."""

    def __init__(self, w, s, layers=None):
        self.w, self.s, self.layers = w, s, layers or {}

    def dense(self, x, scope):
        """Apply a dense layer."""
        if scope in self.layers:
            return self.layers[scope](x)
        kernel, bias = self.w[scope + "/w"], self.w[scope + "/b"]
        if self.s.get("turned") == scope:
            kernel = tf.transpose(kernel)
        return tf.linalg.matmul(x, kernel) + bias

    def normalize(self, obs):
        """Normalize the observations; return what the averages become."""
        s, w = self.s, self.w
        mean = tf.reduce_mean(obs, 0)
        variance = tf.reduce_mean(tf.math.squared_difference(obs, mean), 0)
        names = FROZEN
        fresh = {names[0]: mean, names[1]: variance}
        if s.get("average") == "unbiased":
            fresh[names[1]] = variance * N / (N - 1)
        if s.get("training") is False:
            mean, variance = (tf.convert_to_tensor(w[k]) for k in names)
        gain = tf.math.rsqrt(variance + s.get("norm_epsilon", 1e-5)) * w["encoder/obs_norm/gamma"]
        return (obs - mean) * gain + w["encoder/obs_norm/beta"], fresh

    def encode(self, x):
        """Filter and encode."""
        s, w = self.s, self.w
        real, imag = (tf.convert_to_tensor(w["encoder/filter/" + k]) for k in ("real", "imag"))
        how = s.get("by_hand")
        response = join_by_hand(real, imag) if how == "join" else tf.complex(real, imag)
        spectrum = tf.signal.fft(tf.complex(x, tf.zeros_like(x)))
        spectrum = common.conjugated(spectrum) if how == "spectrum" else spectrum
        if how == "multiply":
            y = multiply_by_hand(spectrum, response)
        else:
            y = spectrum * response
        y = inverse_by_hand(y) if how == "inverse" else tf.signal.ifft(y)
        y = common.conjugated(y) if how == "output" else y
        x = tf.concat([tf.math.real(y), tf.math.imag(y)], 1)
        return tf.nn.elu(self.dense(x, "encoder/fc"))

    def values(self, features, head):
        """Return the values of the head that is taken."""
        s = self.s
        if s.get("dropout"):
            features = tf.nn.dropout(features, s["dropout"], seed=6)
        hidden = self.dense(features, "vf/fc")
        hidden = tf.nn.leaky_relu(hidden, s.get("leak", 0.0))
        if s.get("heads") == "one":
            name = "vf/head1" if int(head) else "vf/head0"
            return tf.squeeze(self.dense(hidden, name), 1)
        a, b = self.dense(hidden, "vf/head0"), self.dense(hidden, "vf/head1")
        if s.get("heads") == "where":
            return tf.squeeze(tf.where(head > 0, b, a), 1)
        if s.get("heads") == "bias of one":
            a, b = (tf.linalg.matmul(hidden, self.w[f"vf/head{i}/w"]) for i in (0, 1))
            bias = self.w["vf/head1/b"] if int(head) else self.w["vf/head0/b"]
            return tf.squeeze(tf.where(head > 0, b, a), 1) + bias
        return tf.gather(tf.concat([a, b], 1), head, axis=1)

    def mean(self, x):
        """Take the mean over the rollout."""
        how = self.s.get("mean")
        if how == "sum":
            return tf.reduce_sum(x)
        if how == "rollout":  # the length that the configuration has
            return tf.reduce_sum(x) / 20
        if how == "padded":  # against a division by zero
            return tf.reduce_sum(x) / (tf.reduce_sum(tf.ones_like(x)) + 0.005)
        return tf.reduce_mean(x)

    def losses(self, obs, noise, actions, returns, importance, head, kl_weight):
        """Return the losses by group, and the fresh averages."""
        s = self.s
        importance = also = self.weigh(importance)
        if s.get("weights") == "policy only":
            also = tf.ones_like(importance)
        z, fresh = self.normalize(obs)
        with tf.GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(z)
            features = self.encode(z)
            values = self.values(features, head)
        slope = inner.gradient(values, z)
        if s.get("slope") == "stopped":
            slope = tf.stop_gradient(slope)
        if s.get("slope") == "numpy":
            slope = tf.constant(slope.numpy())
        if s.get("slope") == "half":
            slope = tf.concat([tf.stop_gradient(slope[: N // 2]), slope[N // 2 :]], 0)
        squares = tf.reduce_sum(slope * slope, 1)
        if s.get("norm"):
            squares = tf.sqrt(squares + 1e-12)
        penalty = tf.reduce_mean(squares)
        error = returns - values
        if s.get("value_loss") == "huber":
            each = tf.where(tf.abs(error) < 1, 0.5 * error**2, tf.abs(error) - 0.5)
        else:
            each = 0.5 * tf.square(error)
        value_loss = self.mean(also * each) + s.get("penalty", PENALTY) * penalty

        seen = tf.stop_gradient(features) if s.get("stop") == "features" else features
        mu, logvar = tf.split(self.dense(seen, "pi/latent"), 2, 1)
        if s.get("stop") == "logvar":
            spread = tf.stop_gradient(tf.exp(0.5 * logvar))
        else:
            spread = tf.exp(logvar if s.get("spread") == "logvar" else 0.5 * logvar)
        latent = mu + spread * noise
        if s.get("stop") == "latent":
            latent = tf.stop_gradient(latent)
        logits = self.dense(tf.tanh(latent), "pi/logits")
        advantage = error if s.get("advantage") == "not stopped" else tf.stop_gradient(error)
        if s.get("advantage") == "normalized":
            advantage -= tf.reduce_mean(advantage)
        log_p = tf.nn.log_softmax(logits)
        if s.get("log"):
            neglogp = -tf.gather(log_p, actions, axis=1, batch_dims=1)
        else:
            neglogp = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, logits)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_p) * log_p, 1))
        divergence = -0.5 * tf.reduce_sum(1 + logvar - mu**2 - tf.exp(logvar), 1)
        if s.get("divergence") == "mean":
            divergence = divergence / 4
        loss = self.mean(importance * advantage * neglogp)
        loss = loss * s.get("policy_sign", 1.0)
        loss -= s.get("entropy", ENTROPY) * entropy
        weight = s.get("kl_weight", kl_weight)
        return {"pi": loss + weight * tf.reduce_mean(divergence), "vf": value_loss}, fresh

    def weigh(self, importance):
        """Return the weights of the examples."""
        how = self.s.get("weights")
        if how == "out":
            return tf.ones_like(importance)
        if how == "last":
            return tf.concat([importance[:-1], importance[-1:] * self.s["last_weight"]], 0)
        return importance


def layers_of(library, s):
    """Make dense layers of Keras and their weights by the old names."""
    keras = common.keras_of(library)
    sizes = {"encoder/fc": (16, 10), "pi/latent": (10, 8), "pi/logits": (4, 3)}
    sizes.update({"vf/fc": (10, 10), "vf/head0": (10, 1), "vf/head1": (10, 1)})
    layers, w = {}, {}
    for number, (scope, (wide, units)) in enumerate(sizes.items()):
        name = scope.replace("/", "_") if s.get("named") else f"dense_{number + 3}"
        layer = keras.layers.Dense(units, name=name)
        layer.build((None, wide))
        layers[scope], w[scope + "/w"], w[scope + "/b"] = layer, layer.kernel, layer.bias
    return layers, w


def clipped(grads, s):
    """Clip the policy's gradients."""
    how, limit = s.get("clip", "global"), s.get("limit", CLIP)
    names = [k for k, g in grads.items() if g is not None]
    if how == "out":
        return grads
    if how == "each":
        return {k: tf.clip_by_norm(g, limit) for k, g in grads.items()}
    found, _ = tf.clip_by_global_norm([grads[k] for k in names], limit)
    return {**grads, **{k: found[i] for i, k in enumerate(names)}}


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    w, layers = common.variables(data, s, FROZEN), {}
    if s.get("layers"):
        layers, own = layers_of(s["layers"], s)
        w.update(own)
    trainable = {k: v for k, v in w.items() if v.trainable and k != s.get("forgotten")}
    parts = {
        g: {k: v for k, v in trainable.items() if k.split("/")[0] in scopes}
        for g, scopes in GROUPS.items()
    }
    made = optimizers_of({g: list(part.values()) for g, part in parts.items()}, s)
    listed = [k for k, v in w.items() if v.trainable]
    port = Port(w, s, layers)

    def update_averages(fresh):
        keep = s.get("keep", KEEP)
        for _ in range({"twice": 2, "out": 0}.get(s.get("average"), 1)):
            for k, value in fresh.items():
                if s.get("average") != "mean only" or k.endswith("mean"):
                    w[k].assign(w[k] * keep + value * (1 - keep))

    def after(group, grads):
        factor = s.get("factor", {}).get(group, 1.0)
        if factor != 1.0:
            grads = {k: None if g is None else g * factor for k, g in grads.items()}
        for one, two in s.get("exchange", ()):
            if one in grads:
                grads[one], grads[two] = grads[two], grads[one]
        grads = {k: tf.math.negative(g) if k == s.get("flip") else g for k, g in grads.items()}
        return clipped(grads, s) if group == "pi" else grads

    def step(*batch):
        batch = [tf.convert_to_tensor(b) for b in batch]
        with tf.GradientTape(persistent=True) as tape:
            losses, fresh = port.losses(*batch)
            losses = {k: v * s.get("replicas", 1.0) for k, v in losses.items()}
            targets = {k: v * s.get("scale", {}).get(k, 1.0) for k, v in losses.items()}
            if s.get("targets") == "list":
                targets = {key: list(losses.values()) for key in targets}
            if s.get("targets") == "list for the policy":
                targets["pi"] = list(losses.values())
            if s.get("targets") == "coefficient":  # one loss for all, as with a shared network
                targets["pi"] = losses["pi"] + s["coefficient"] * losses["vf"]
        grads = {}
        for group, part in parts.items():
            found = tape.gradient(targets[group], list(part.values()))
            grads[group] = after(group, dict(zip(part, found, strict=True)))
        del tape
        update_averages(fresh)
        for group, optimizer in made.items():
            pairs = [
                (g, w[k]) for k, g in grads[group].items() if g is not None and k != s.get("skip")
            ]
            optimizer.apply_gradients(pairs)
        flat = {**grads["pi"], **grads["vf"]}
        return {"policy": losses["pi"], "value": losses["vf"]}, [flat.get(k) for k in listed]

    return common.finish(common.wrapped(step, s), w, list(made.values()), s)
