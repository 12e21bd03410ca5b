"""A beamformer: microphones with gains and phases that are learned, then a mask of the spectrum.

Batch normalization of the logarithms, rows of a table for rooms, now and then whether someone
speaks; Adam with a rate that falls by stairs, or momentum, as the old program had it by a flag.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers
from trials.models.porting import averages, decayed, look, old_step, told, weigh

ROWS, TIME, MICS, BANDS, ROOMS = 8, 4, 3, 5, 4
SHAPES = {
    "steer/gain": (MICS, BANDS),
    "steer/phase": (MICS, BANDS),
    "norm/scale": (BANDS,),
    "norm/offset": (BANDS,),
    "norm/mean": (BANDS,),
    "norm/variance": (BANDS,),
    "rooms/table": (ROOMS, BANDS),
    "hidden/weights": (BANDS, BANDS),
    "hidden/biases": (BANDS,),
    "mask/weights": (BANDS, BANDS),
    "mask/biases": (BANDS,),
    "voice/weights": (BANDS, 1),
    "voice/biases": (1,),
}
FROZEN = ("norm/mean", "norm/variance")
KERNELS = ("hidden/weights", "mask/weights")
KINDS = {
    "adam": {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-4, "lr": [0.02, 2, 0.7, True]},
    "sgd": {"momentum": 0.8, "lr": 0.03},
}
SHARE, L2, VOICE, QUIET = 0.9, 0.02, 0.4, 0.2


def data(dtype="float32", half=None, kind="adam"):
    """Make weights and five batches: spectra, clean ones, rooms, trust, who speaks, a flag."""
    random = np.random.RandomState(171)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        clean = random.randn(ROWS, TIME, BANDS, 2)
        phase = np.exp(1j * random.uniform(-1, 1, (1, 1, MICS, BANDS)))
        heard = (clean[..., 0] + 1j * clean[..., 1])[:, :, None] * phase
        heard += 0.5 * (random.randn(*heard.shape) + 1j * random.randn(*heard.shape))
        rooms = np.minimum(random.geometric(0.4, ROWS) - 1, ROOMS - 1).astype("int32")
        trust = random.choice([0.5, 1.0, 2.5], ROWS)
        voice = random.randint(0, 2, ROWS)
        parts = (heard.real, heard.imag, clean[..., 0], clean[..., 1])
        floats = [a.astype(dtype) for a in (*parts, trust, voice)]
        batches.append((*floats[:4], rooms, *floats[4:], np.array(flag, dtype)))
    weights = common.draw(SHAPES, 172, dtype)
    weights["rooms/table"] *= 2
    weights["voice/biases"] += 0.4
    return {"weights": weights, "batches": batches, "half": half, "kind": kind}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data, FROZEN)
    (real, imag, clean, shade, rooms, trust, voice, flag), fed = common.feeds(v1, data)
    gain, phase = w["steer/gain"], w["steer/phase"]
    steer = v1.complex(gain * v1.cos(phase), gain * v1.sin(phase))
    beam = v1.reduce_sum(v1.conj(steer) * v1.complex(real, imag), 2)
    power = v1.square(v1.real(beam)) + v1.square(v1.imag(beam))
    y = v1.log(power + 0.1)
    mean, variance = v1.nn.moments(y, [0, 1])
    y = v1.nn.batch_normalization(y, mean, variance, w["norm/offset"], w["norm/scale"], 1e-3)
    y += v1.nn.embedding_lookup(w["rooms/table"], rooms)[:, None]
    y = v1.reshape(y, [-1, BANDS])
    y = v1.tanh(v1.nn.xw_plus_b(y, w["hidden/weights"], w["hidden/biases"]))
    mask = v1.sigmoid(v1.nn.xw_plus_b(y, w["mask/weights"], w["mask/biases"]))
    mask = v1.reshape(mask, [ROWS, TIME, BANDS])
    wrong = v1.complex(mask, v1.zeros_like(mask)) * beam - v1.complex(clean, shade)
    losses = v1.reduce_mean(v1.square(v1.real(wrong)) + v1.square(v1.imag(wrong)), [1, 2])
    loss = v1.reduce_mean(trust * losses) + QUIET * v1.reduce_mean(power * v1.square(1 - mask))
    loss += L2 * v1.add_n([v1.nn.l2_loss(w[k]) for k in KERNELS])
    y = v1.reduce_mean(v1.reshape(y, [ROWS, TIME, BANDS]), 1)
    logits = v1.nn.xw_plus_b(y, w["voice/weights"], w["voice/biases"])[:, 0]
    losses = v1.nn.sigmoid_cross_entropy_with_logits(labels=voice, logits=logits)
    loss += VOICE * flag * v1.reduce_mean(losses)
    values = {"norm/mean": mean, "norm/variance": variance}
    ops = [v1.assign(w[k], SHARE * w[k] + (1 - SHARE) * v) for k, v in values.items()]
    kind = data["kind"]
    pairs, train_op = old_step(v1, loss, kind, KINDS[kind], moves=ops)
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def steered(w, heard, s):
    """Return what the microphones hear together."""
    hand = common.by_hand(s)
    gain, phase = (tf.convert_to_tensor(w["steer/" + k]) for k in ("gain", "phase"))
    gain, phase = common.point(gain, s, "gain"), common.point(phase, s, "phase")
    if s.get("rewrite"):
        steer = tf.complex(gain, tf.zeros_like(gain)) * tf.exp(
            tf.complex(tf.zeros_like(phase), phase)
        )
        return tf.einsum("mf,rtmf->rtf", tf.math.conj(steer), heard)
    steer = hand(tf.complex(gain * tf.cos(phase), gain * tf.sin(phase)), "steer")
    back = steer if s.get("plain") == "steer" else tf.math.conj(steer)
    heard = tf.math.conj(heard) if s.get("plain") == "heard" else heard
    return hand(tf.reduce_sum(hand(back * heard, "product"), 2), "beam")


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    w, kind = common.variables(data, s, FROZEN), data["kind"]
    optimizer = optimizers.of_port(kind, common.trained(w, s), KINDS[kind], s)

    def loss_of(w, batch, s):
        real, imag, clean, shade, rooms, trust, voice, flag = batch
        beam = steered(w, tf.complex(real, imag), s)
        power = tf.square(tf.math.real(beam)) + tf.square(tf.math.imag(beam))
        y = common.point(tf.math.log(common.point(power, s, "power") + 0.1), s, "log")
        mean, variance = averages(w, y, s, SHARE)
        scale, offset = w["norm/scale"], w["norm/offset"]
        y = tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3)
        rows = common.point(look(w, "rooms/table", rooms, s), s, "rooms")
        y = tf.reshape(y + rows[:, None], [-1, BANDS])
        y = common.point(tf.tanh(common.affine(w, "hidden", y, s)), s, "hidden")
        mask = tf.reshape(tf.sigmoid(common.affine(w, "mask", y, s)), [-1, TIME, BANDS])
        mask = common.point(mask, s, "mask")
        kept = tf.complex(mask, tf.zeros_like(mask)) * beam
        wrong = common.by_hand(s)(kept, "kept") - tf.complex(clean, shade)
        losses = tf.square(tf.math.real(wrong)) + tf.square(tf.math.imag(wrong))
        quiet = QUIET * tf.reduce_mean(power * tf.square(1 - mask))
        decay = s.get("l2", L2) * decayed(w, KERNELS, s)
        loss = weigh(tf.reduce_mean(losses, [1, 2]), trust, s) + decay
        loss += s.get("quiet_sign", 1.0) * quiet
        y = common.point(tf.reduce_mean(tf.reshape(y, [-1, TIME, BANDS]), 1), s, "to voice")

        def head(w):
            logits = common.affine(w, "voice", y, s)[:, 0]
            losses = tf.nn.sigmoid_cross_entropy_with_logits(voice, logits)
            return VOICE * tf.reduce_mean(losses)

        parts = {"decay": decay, "quiet": quiet}
        return told(loss, w, "voice", flag, head, s, parts, s.get("voice_sign", 1.0))

    return common.port(loss_of, w, optimizer, s)
