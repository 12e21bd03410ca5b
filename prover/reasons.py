"""The causes that a report can name: in words, with the page that has the whole story."""

from collections import namedtuple

REASONS = {
    "batch-factor": (
        "One side takes the mean where the other takes the sum: {number} is {what}.",
        "explanation/sum-over-targets/",
    ),
    "one-less": (
        "One side divides by one less than the other: {number} is {what}.",
        "explanation/sum-over-targets/",
    ),
    "divisor": (
        "The mean divides by {number} times what it did: something is added to the number of "
        "examples, or taken off.",
        "explanation/sum-over-targets/",
    ),
    "weighed": (
        "The examples of a batch are weighed or averaged otherwise: weights, a mask, a mean of "
        "means, or some of them left out.",
        "explanation/sum-over-targets/",
    ),
    "replica-factor": (
        "One side counts {number} times: replicas or towers, whose losses or gradients are added "
        "up or averaged; or a constant in the loss, such as the half of tf.nn.l2_loss.",
        "how-to/replicas/",
    ),
    "scaled": (
        "Each gradient is multiplied by {number} on its way to the optimizer: by replicas, steps "
        "that are added up, or a loss scale.",
        "how-to/replicas/",
    ),
    "loss-scale": ("A loss scale of {number} was not taken off.", "how-to/mixed-precision/"),
    "unscaled": (
        "A loss scale of {number} was taken off that is not there, or taken off twice.",
        "how-to/mixed-precision/",
    ),
    "sample-weights": (
        "The weights of examples, {name}, are left out, or normalised otherwise.",
        "explanation/sum-over-targets/",
    ),
    "sign": (
        "{place} has another sign or factor: a gradient reversal, a gradient override or a custom "
        "gradient is left out, or another.",
        "old-api/custom-gradients/",
    ),
    "negated": ("{name} enters the loss with the other sign.", "explanation/sum-over-targets/"),
    "conjugated": ("{name} is conjugated on one side.", "how-to/surprising-numbers/"),
    "zeros-for-none": (
        "{name}: the old gradient is {old}, the new one {new}.",
        "parameters/unconnected_gradients/",
    ),
    "lazy": (
        "Rows of {name} without a gradient in a step stay where they are on the {side} side: its "
        "optimizer is lazy, or is given slices where the other one is given zeros.",
        "parameters/unconnected_gradients/",
    ),
    "stopped": (
        "The gradient stops {place}. Look for NumPy, tf.stop_gradient, a cast, a rounding, or a "
        "tensor that is made outside of the tape.",
        "how-to/none/",
    ),
    "not-stopped": (
        "The old gradient stops {place}, the new one does not.",
        "parameters/stop_gradients/",
    ),
    "training-flag": (
        "The model runs in the other mode: {which}. Look for training= in its call.",
        "how-to/surprising-numbers/",
    ),
    "repeated-rows": (
        "Rows of {name} that are used more than once are not added up on one side.",
        "tape/gradient/",
    ),
    "clipping": ("Gradients are clipped otherwise: {how}.", "how-to/clip-gradients/"),
    "exchanged": (
        "{name} are exchanged: look at the order of gradients and variables.",
        "how-to/some-variables/",
    ),
    "transposed": ("{name} is transposed.", "how-to/some-variables/"),
    "first-order": (
        "The old program differentiates through a gradient, and the new one does not, or not "
        "wholly: the inner gradient is taken outside of the outer tape, or it is stopped, or the "
        "weights are assigned in between.",
        "how-to/train-through-a-gradient/",
    ),
    "sum-over-targets": ("The gradient is that of a sum: {what}.", "explanation/sum-over-targets/"),
    "learning-rate": (
        "The learning rate{of} is {factor} times the old one.",
        "how-to/optimizer-steps/",
    ),
    "constant": ("{rule} with another constant. {changes}.", "how-to/optimizer-steps/"),
    "optimizer": (
        "The old step is that of {old}, the new one that of {new}.",
        "how-to/optimizer-steps/",
    ),
    "bias-correction": (
        "Adam's bias correction is left out on the {side} side.",
        "how-to/optimizer-steps/",
    ),
    "counted": (
        "Adam's bias correction counts a step too many on the {side} side.",
        "how-to/optimizer-steps/",
    ),
    "weight-decay": (
        "A weight decay or a regularization of {name} is another: {how}.",
        "how-to/optimizer-steps/",
    ),
    "schedule": (
        "The learning rate follows another schedule, or its steps are counted otherwise.",
        "how-to/optimizer-steps/",
    ),
    "batch-norm-average": (
        "{name} moves at another pace: another momentum, an update left out or made twice, or the "
        "variance of a batch with or without Bessel's correction.",
        "how-to/surprising-numbers/",
    ),
    "moving-average": (
        "{name} moves at another pace: another decay, or an update left out or made twice.",
        "how-to/optimizer-steps/",
    ),
    "not-trained": ("{name} is not trained on the {side} side.", "how-to/some-variables/"),
    "conjugate": (
        "The gradient is the complex conjugate of the old one.",
        "how-to/surprising-numbers/",
    ),
    "forward": (
        "The forward pass or the loss computes something else: {what}.",
        "start/prove-your-port/",
    ),
}


class Cause(namedtuple("Cause", "key sure text evidence page")):
    """A likely cause.

    Attributes:
        key: Its name, for programs.
        sure: "certain", "likely" or "possible".
        text: The cause in words.
        evidence: What was measured.
        page: The page of the site that tells more.
    """


def reason(key, evidence, sure="likely", said_as=None, **words):
    """Return the `Cause` of a key, in the words of another one if it is `said_as` that."""
    text, page = REASONS[said_as or key]
    return Cause(key, sure, text.format(**words), evidence, page)


def listed_names(names):
    """Return names in words; of many, the first ones."""
    names = list(names)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
