"""Phones of speakers from spectra: a complex filter bank, a GRU, Adam with decoupled decay."""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SHAPES = {
    "bank/real": (5, 6),
    "bank/imag": (5, 6),
    "speakers/table": (5, 4),
    "gru/gates/weights": (20, 20),
    "gru/gates/biases": (20,),
    "gru/candidate/weights": (20, 10),
    "gru/candidate/biases": (10,),
    "project/weights": (10, 10),
    "project/biases": (10,),
    "out/weights": (10, 10),
    "out/biases": (10,),
    "later/weights": (10, 3),
}
ADAM = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-5}
RATE = ["inverse", 0.02, 0.2]
DECAY = 0.05
CLIP = ("global", 0.4)
TIME, CLASSES = 6, 9


def data(dtype="float32", half=None, decay=DECAY):
    """Make weights and five batches of spectra, speakers, labels and masks."""
    random = np.random.RandomState(35)
    batches = []
    for _ in range(5):
        x = random.randn(8, TIME, 5) + 1j * random.randn(8, TIME, 5)
        lengths = random.randint(2, TIME + 1, (8, 1))
        mask = (np.arange(TIME)[None] < lengths).astype(dtype)
        speakers = np.minimum(random.geometric(0.4, 8) - 1, 4).astype("int32")
        labels = random.randint(0, CLASSES, (8, TIME)).astype("int32")
        batches.append((x.astype("complex64"), speakers, labels, mask))
    weights = common.draw(SHAPES, 36, dtype)
    weights["gru/gates/biases"] += 1
    return {"weights": weights, "batches": batches, "half": half, "decay": decay}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (x, speakers, labels, mask), fed = common.feeds(v1, data)
    step = v1.train.get_or_create_global_step()
    bank = v1.complex(w["bank/real"], w["bank/imag"])
    bands = v1.reshape(v1.matmul(v1.reshape(x, [-1, 5]), bank), [8, TIME, 6])
    bands = v1.log(1.0 + v1.square(v1.abs(bands)))
    who = v1.nn.embedding_lookup(w["speakers/table"], speakers)
    h, states = v1.zeros([8, 10]), []
    for t in range(TIME):
        frame = v1.concat([bands[:, t], who], 1)
        both = v1.concat([frame, h], 1)
        gates = v1.nn.xw_plus_b(both, w["gru/gates/weights"], w["gru/gates/biases"])
        reset, keep = v1.split(v1.sigmoid(gates), 2, 1)
        both = v1.concat([frame, reset * h], 1)
        fresh = v1.nn.xw_plus_b(both, w["gru/candidate/weights"], w["gru/candidate/biases"])
        h = keep * h + (1 - keep) * v1.tanh(fresh)
        states.append(h)
    y = v1.reshape(v1.stack(states, 1), [-1, 10])
    y = v1.nn.softsign(v1.nn.xw_plus_b(y, w["project/weights"], w["project/biases"]))
    y = v1.nn.xw_plus_b(y, w["out/weights"], w["out/biases"])
    logits, _ = v1.split(y, [CLASSES, 1], 1)  # the other one was for the ends of words
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(
        labels=v1.reshape(labels, [-1]), logits=logits
    )
    mask = v1.reshape(mask, [-1])
    loss = v1.reduce_sum(losses * mask) / v1.reduce_sum(mask)
    rate = v1.train.inverse_time_decay(0.02, step, 1, 0.2)
    optimizer = v1.train.AdamOptimizer(rate, beta2=0.98, epsilon=1e-5)
    found = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]
    grads, _ = v1.clip_by_global_norm([v1.convert_to_tensor(g) for g, _ in found], 0.4)
    pairs = [(grads[i], v) for i, (_, v) in enumerate(found)]
    with v1.control_dependencies(list(grads)):
        decays = [v1.assign_sub(v, data["decay"] * rate * v) for _, v in pairs]
    with v1.control_dependencies(decays):
        train_op = optimizer.apply_gradients(pairs, global_step=step)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def apart(kinds):
    """Return how weights are taken apart and joined: old name to new names and widths."""

    def load(weights):
        out = {}
        for name, value in weights.items():
            if name.rpartition("/")[0] in kinds:
                parts, first = kinds[name.rpartition("/")[0]], 0
                for part, width in parts:
                    leaf = name.rpartition("/")[2]
                    out[f"{part}/{leaf}"] = value[..., first : first + width]
                    first += width
            else:
                out[name] = value
        return out

    def read(weights):
        out = {}
        for name in SHAPES:
            scope, _, leaf = name.rpartition("/")
            if scope in kinds:
                out[name] = np.concatenate([weights[f"{p}/{leaf}"] for p, _ in kinds[scope]], -1)
            else:
                out[name] = weights[name]
        return out

    return load, read


GATES = {"gru/gates": (("gru/reset", 10), ("gru/keep", 10))}
SPARE = {"out": (("phones", CLASSES), ("ends", 1))}


def states_of(w, frames, s):
    """Run the cell over the frames."""
    h, states = tf.zeros([tf.shape(frames)[0], 10], frames.dtype), []
    for t in range(TIME):
        both = tf.concat([frames[:, t], h], 1)
        if "gru/reset/weights" in w:
            reset, keep = (
                tf.sigmoid(common.matmul(both, w[k + "/weights"], s) + w[k + "/biases"])
                for k in ("gru/reset", "gru/keep")
            )
        else:
            gates = common.matmul(both, w["gru/gates/weights"], s) + w["gru/gates/biases"]
            reset, keep = tf.split(tf.sigmoid(gates), 2, 1)
        reset, keep = (keep, reset) if s.get("gates") == "exchanged" else (reset, keep)
        reset = common.point(reset, s, "reset")
        both = tf.concat([frames[:, t], reset * h], 1)
        fresh = common.matmul(both, w["gru/candidate/weights"], s) + w["gru/candidate/biases"]
        fresh = tf.tanh(fresh)
        h = fresh + keep * (h - fresh) if s.get("rewrite") else keep * h + (1 - keep) * fresh
        if t == s.get("cut"):
            h = tf.stop_gradient(h)
        states.append(h)
    return tf.stack(states, 1)


def frames_of(w, x, speakers, s):
    """Filter the spectra, and put the speakers beside them."""
    hand = common.by_hand(s)
    real, imag = tf.convert_to_tensor(w["bank/real"]), tf.convert_to_tensor(w["bank/imag"])
    bank = tf.complex(real, -imag if s.get("adjoint") else imag)
    bands = hand(tf.tensordot(x, hand(bank, "bank"), 1), "bands")
    if s.get("by_hand") == "frame":
        bands = tf.concat([common.conjugated(bands[:, :1]), bands[:, 1:]], 1)
    if s.get("by_hand") == "band":
        bands = tf.concat([common.conjugated(bands[..., :1]), bands[..., 1:]], 2)
    if s.get("rewrite"):
        size = tf.square(tf.math.real(bands)) + tf.square(tf.math.imag(bands))
        bands = tf.math.log1p(size)
    else:
        bands = tf.math.log(1.0 + tf.square(tf.abs(bands)))
    who = common.point(tf.gather(w["speakers/table"], speakers), s, "speakers")
    return tf.concat([common.point(bands, s, "bands"), tf.tile(who[:, None], [1, TIME, 1])], 2)


def weigh(losses, mask, s):
    """Reduce the losses of the frames to one."""
    how = s.get("sample_weights")
    if how == "out":
        return common.mean(losses, s)
    if how == "all":
        return tf.reduce_mean(losses * mask)
    if how == "padding":
        mask = tf.maximum(mask, s["padding"])
    if how == "one":
        mask = tf.concat([mask[:1] * s["one"], mask[1:]], 0)
    total = tf.reduce_sum(mask)
    if s.get("reduce") == "sum":
        return tf.reduce_sum(losses * mask)
    if s.get("reduce") == "rows":
        return tf.reduce_sum(losses * mask) / 8
    if s.get("rewrite"):
        return tf.reduce_sum(tf.boolean_mask(losses, mask > 0)) / total
    return tf.reduce_sum(losses * mask) / (total + s.get("more", 0.0))


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    kinds = {**(GATES if s.get("gates") == "split" else {}), **(SPARE if s.get("spare") else {})}
    truth, weights = {}, data
    if kinds:
        load, read = apart(kinds)
        truth, weights = {"load": load, "read": read}, {"weights": load(data["weights"])}
    w = common.variables(weights, s)
    library = s.get("library", "hand")
    settings = {**ADAM, "lr": s.get("rate", RATE), **s.get("opt", {})}
    if library == "hand":
        home = common.keras_of("tf_keras").optimizers.schedules
        if isinstance(settings["lr"], list):
            settings["lr"] = optimizers.counted(optimizers.decaying(settings["lr"], home), s)
        settings = {"decay": data["decay"], "decoupled": True, **settings}
    optimizer = optimizers.make("adam", w, settings, library)

    def loss_of(w, batch, s):
        x, speakers, labels, mask = batch
        frames = frames_of(w, x, speakers, s)
        y = common.point(tf.reshape(states_of(w, frames, s), [-1, 10]), s, "states")
        y = common.matmul(y, w["project/weights"], s) + w["project/biases"]
        y = common.point(tf.nn.softsign(y), s, "project")
        if s.get("spare"):
            logits = common.matmul(y, w["phones/weights"], s) + w["phones/biases"]
        else:
            logits = (common.matmul(y, w["out/weights"], s) + w["out/biases"])[:, :CLASSES]
        losses = common.cross_entropy(logits, tf.reshape(labels, [-1]), s)
        loss = weigh(losses, tf.reshape(mask, [-1]), s)
        if s.get("spare") in ("zeros", "weights"):
            loss += 0.0 * tf.reduce_sum(w["ends/weights"])
        if s.get("spare") in ("zeros", "biases"):
            loss += 0.0 * tf.reduce_sum(w["ends/biases"])
        if s.get("unused"):
            loss += 0.0 * tf.reduce_sum(w["later/weights"])
        if s.get("aside"):
            mean = tf.reduce_mean(losses)
            return s["aside"] * mean if s.get("part") else loss
        return loss

    return common.port(loss_of, w, optimizer, s, CLIP, **truth)
