"""What a finding says besides: how sure it is, what is silent, and where two tapes are needed."""

import pytest

from finder.find import find


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import sugartensor as tf", "tf.gradients"),
        ("from lingvo import compat as tf", "tf.gradients"),
        ("from .math import tf_gradients", "tf_gradients"),
    ],
)
def test_tf_may_be_passed_on_by_another_module(line, name):
    """What is imported as tf is TensorFlow, it seems; a library of its own is not."""
    (found,) = find(f"{line}\ng = {name}(y, x)\n")
    assert (found["rule"], found["certainty"]) == ("tf.gradients", "likely")
    assert not find("import jax as tf\ng = tf.gradients(y, x)\n")


def test_wrapped_optimizer_is_not_certain():
    """What wraps it under its name may have methods of its own."""
    code = "import tensorflow as tf\nopt = tf.train.AdamOptimizer()\n{}opt.compute_gradients(y)\n"
    (found,) = find(code.format(""))
    assert found["certainty"] == "certain"
    (found,) = find(code.format("opt = Wrap(opt)\n"))
    assert found["certainty"] == "likely"
    (found,) = find(code.format("if new:\n    opt = tf.keras.optimizers.Adam()\n"))
    assert found["certainty"] == "likely"
    wrapped = "import horovod.tensorflow as hvd\nopt = hvd.DistributedOptimizer(opt)\n"
    (found,) = find(code.format(wrapped))
    assert found["certainty"] == "certain"


@pytest.mark.parametrize(
    ("code", "page"),
    [
        ("g = tf.gradients(y, x)[0]\nh = tf.gradients(g, x)", "tape/higher_order/"),
        ("g = tf.gradients(y, x)[0]\nh = tf.gradients(g, x, grad_ys=v)", "how-to/hvp/"),
        ("g = tf.gradients(y, x)[0]\nh = tf.gradients(tf.reduce_sum(g * v), x)", "how-to/hvp/"),
        (
            "g = tf.gradients(y, x)[0]\np = tf.reduce_sum(g * v)\nh = tf.gradients(p, x)",
            "how-to/hvp/",
        ),
        (
            "u_x = tf.gradients(u, x)[0]\nu_xx = tf.gradients(u_x, x)[0]",
            "how-to/train-through-a-gradient/#pinn",
        ),
        (
            "class Net:\n    def build(self):\n"
            "        self.u_x = tf.gradients(self.u, self.x)[0]\n"
            "        self.u_xx = tf.gradients(self.u_x, self.x)[0]",
            "how-to/train-through-a-gradient/#pinn",
        ),
        ("d = lambda u: tf.gradients(u, x)[0]\nh = tf.gradients(d(y), x)", "tape/higher_order/"),
        (
            "n = tf.norm(tf.gradients(y, x)[0])\nloss = y + n\n"
            "tf.train.AdamOptimizer().minimize(loss)",
            "how-to/train-through-a-gradient/",
        ),
        ("g = tf.gradients(y, x)[0]\nh = tf.gradients(z, x)", ""),
    ],
)
def test_gradient_of_a_gradient_needs_two_tapes(code, page):
    """By names and functions of the file; the page is that of the task."""
    last = find(f"import tensorflow as tf\n{code}\n")[-1]
    assert any("needs two tapes" in note for note in last["notes"]) == bool(page)
    assert not page or last["page"] == page


def test_inner_gradient_says_so_too():
    """That of a penalty stands first, and where its tape stands is not seen from it alone."""
    code = (
        "import tensorflow as tf\nslopes = tf.gradients(critic(x), [x])[0]\n"
        "penalty = tf.reduce_mean((tf.norm(slopes, axis=1) - 1.0) ** 2)\n"
        "tf.train.AdamOptimizer().minimize({} + penalty, var_list=v)\n"
    )
    first, last = find(code.format("loss"))
    note = "its gradient is taken again: its tape stands inside the block of the other"
    assert note in first["notes"] and note not in last["notes"]
    assert first["page"] == last["page"] == "how-to/train-through-a-gradient/"
    first, _ = find(code.format("loss").replace("+ penalty", ""))
    assert note not in first["notes"] and first["page"] == "parameters/"


@pytest.mark.parametrize(
    ("code", "silent"),
    [
        ("g = tf.gradients(y, x)\nfirst = g[0]", True),
        ("g, = tf.gradients(y, x)", True),
        ("for g in tf.gradients(y, x): print(g)", True),
        ("g = tf.gradients(y, x)\npairs = zip(g, [x])", True),
        ("g = tf.gradients(y, x)\nprint(g)", False),
        ("g = tf.gradients(y, weights)\nfirst = g[0]", False),
        ("x = [a, b]\ng = tf.gradients(y, x)\nfirst = g[0]", False),
        ("g = tf.gradients(y, [x])\nfirst = g[0]", False),
    ],
)
def test_taking_a_gradient_apart_is_silent(code, silent):
    """With one source, what was a list is a tensor, which has rows."""
    (found,) = find(f"import tensorflow as tf\n{code}\n")
    assert found["silent"] == silent


@pytest.mark.parametrize(
    ("call", "named", "page"),
    [
        ("K.gradients(model.output, model.input)", "model.input", "the-input-saliency-fgsm"),
        ("K.gradients(c, layer.output)", "layer.output", "an-inner-layer-grad-cam-deepdream"),
        ("tf.gradients(c, [self.model.inputs[0]])", "model.inputs", "the-input-saliency-fgsm"),
        ("K.gradients(c, x)", "model.output", "an-inner-layer-grad-cam-deepdream"),
    ],
)
def test_symbolic_tensor_of_keras_is_not_passed_on(call, named, page):
    """A tape refuses it, so it stands in no replacement; the section for it is linked."""
    code = "import tensorflow as tf\nfrom keras import backend as K\nc = model.output[:, 1]\n"
    (found,) = find(f"{code}g = {call}\n")
    assert found["replacement"] == found["hunk"] == ""
    assert any(note.startswith(f"{named} has no values") for note in found["notes"])
    assert found["page"].endswith(f"old-api/keras/#gradient-by-{page}")
    (found,) = find(f"{code}c = net(x)\n".replace("c = model.output[:, 1]", "") + f"g = {call}\n")
    assert bool(found["replacement"]) == ("c, x" in call)


WATCH = "tape.watch({}) before the forward pass, unless it is a variable"


@pytest.mark.parametrize(
    ("code", "notes"),
    [
        (
            "tf.gradients(y, x[0])[0]",
            ["drop the [0] if x[0] is one tensor, not a list", WATCH.format("x[0]")],
        ),
        (
            "x = tf.constant(1.0)\ntf.gradients(y, x)[0]",
            ["drop the [0]: x is one tensor", WATCH.format("x")],
        ),
        ("x = tf.Variable(1.0)\ntf.gradients(y, [x])", []),
        ("tf.gradients(y, [w1, b1])", []),
        ("tf.gradients(y, list(weights))", []),
        ("tf.gradients(y, sorted(params, key=f))", []),
        ("tf.gradients(y, tuple(weights))", []),
        ("tf.gradients(y, model.trainable_weights)", []),
        (
            "tf.gradients(y, tf.trainable_variables())",
            ["model.trainable_variables stands for the variables that you train"],
        ),
        (
            "def f(v=None):\n    tf.train.Optimizer().compute_gradients(y, v)",
            [
                "a Keras optimizer of the same name may take other steps",
                "model.trainable_variables stands for the variables that you train",
            ],
        ),
        ("tf.gradients(y, [x])[0]", [WATCH.format("[x]")]),
        (
            "tf.train.AdamOptimizer().minimize(y)",
            [
                "a Keras optimizer of the same name may take other steps",
                "make the optimizer once, before the first step",
                "model.trainable_variables stands for the variables that you train",
            ],
        ),
        (
            "tf.gradients(*xy, **more)",
            ["what *xy holds is not visible", "what **more holds is not visible"],
        ),
        (
            "tf.gradients(f(x), [x])",
            [
                "compute the target inside the tape's block; outside, nothing records it",
                WATCH.format("[x]"),
            ],
        ),
    ],
)
def test_notes_say_what_a_replacement_leaves_open(code, notes):
    """What depends on the reader's values is said beside the replacement."""
    assert find("import tensorflow as tf\n" + code)[0]["notes"] == notes


def test_hessian_is_the_jacobian_of_a_gradient():
    """What it is given goes to both, and not to `tape.gradient` alone."""
    (found,) = find("import tensorflow as tf\ntf.hessians(y, x)\n")
    assert ["inner" in one["write"] for one in found["arguments"]] == [True, True]
    assert "`jacobian`" in found["arguments"][1]["write"]


@pytest.mark.parametrize(
    "line",
    [
        "import tensorflow.contrib.slim as slim",
        "from tensorflow.contrib import layers",
        "from tensorflow import contrib",
        "slim = tf.contrib.slim",
    ],
)
def test_what_fails_first_is_said_first(line):
    """Who mends the gradients alone does not get to them."""
    code = f"import tensorflow as tf\n{line}\n\ng = tf.gradients(y, x)\ng = tf.gradients(y, x)\n"
    first, second = find(code)
    assert first["notes"][0].startswith(f"this file fails first at `{line}`")
    assert second["notes"] == first["notes"][1:]
    guarded = code.replace(line, f"try:\n    {line}\nexcept ImportError:\n    pass")
    assert not any("fails first" in note for found in find(guarded) for note in found["notes"])
