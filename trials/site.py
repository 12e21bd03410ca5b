"""Run the site's own training programs, old and new, through the prover; and their silent traps.

`python -m trials.site` prints a line for each, and writes them down. A program is the two examples
of its page as they stand, but for what is named here: their loop is left out, and a step has to
return its loss and gradients. Each trap is the new example with the change of which the page warns.
"""

import contextlib
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from checks import ROOT
from checks.snippets import load_examples
from prover.compare import compare
from prover.record import record, record_step

PRINTED = ROOT / "trials/site.txt"
ROW = "{:38}{:14}{:19}{}"


class Program(NamedTuple):
    """A training program of the site, in two examples.

    Attributes:
        old: The name of the old example, without its suffix.
        record: Arguments of `record` by the old example's names; or, where its step is no single
            train op, code that defines a step for `record_step`, and its variables.
        until: Where in the new example the training loop, or the printing, begins.
        step: Code after that, by the new example's names: a step, variables, an optimizer.
        changes: What stands otherwise in the new example: a text, and what to write instead.
        body: Where the step begins, if the example does not hold it in a function; `step` is
            then what it returns, and what `compare` takes.
        traps: For each cause what stands otherwise with it put in.
    """

    old: str
    record: str
    until: str
    step: str
    changes: tuple = ()
    body: str = ""
    traps: dict = {}  # noqa: RUF012 (nothing writes to it)


PROGRAMS = [
    Program(
        "cases/gradient-reversal/graph",
        "loss=loss, inputs=[{scale: 0.3}, {scale: 0.8}], train_op=train",
        "log = []",
        "variables = w",
        (("return pred_loss, domain_loss", "return loss, grads"),),
        traps={"sign": [("flip_gradient(feature, scale)", "tf.identity(feature)")]},
    ),
    Program(
        "cases/maml/graph",
        "loss=lossesb[-1], inputs={}, train_op=train",
        "log = []",
        """
step = lambda: train(inputa, inputb, labela, labelb)
variables = list(weights.values())
""",
        (("variables))\n    return lossesb", "variables))\n    return lossesb[-1], grads"),),
        traps={"first-order": [("0.05 * grads[k]", "0.05 * tf.stop_gradient(grads[k])")]},
    ),
    Program(
        "cases/discrete-time-pinn/graph",
        "loss=loss, inputs=feed, train_op=train",
        "losses = []",
        """
def step(x, dummy):
    loss, gradients = loss_and_gradients(x)
    optimizer.apply_gradients(zip(gradients, weights))
    return loss, gradients
variables = weights
""",
        (("@tf.function\ndef loss_and_gradients():", "def loss_and_gradients(x0):"),),
        traps={
            "beta": [
                (
                    "compat.v1.train.AdamOptimizer(1 / 128)",
                    "keras.optimizers.Adam(1 / 128, beta_2=0.99)",
                )
            ]
        },
    ),
    Program(
        "cases/burgers-pinn/graph",
        "loss=loss, inputs={x: x_f, t: t_f}, train_op=None",
        "result = scipy",
        "step, variables = compiled, weights",
        (
            ("@tf.function\ndef compiled(point):", "def compiled(x_f, t_f):"),
            ("    for w, part in zip(weights, tf.split(point, sizes)):\n", ""),
            ("        w.assign(tf.reshape(part, w.shape))\n", ""),
            ("return loss, tf.concat(flat, 0)", "return loss, gradients"),
        ),
        traps={
            "first-order": [
                (
                    "    with tf.GradientTape() as tape:",
                    "    before = net_f(x_f, t_f)\n    with tf.GradientTape() as tape:",
                ),
                ("net_f(x_f, t_f) ** 2", "before**2"),
            ]
        },
    ),
    Program(
        "cases/gradient-penalty/graph",
        "loss={'critic': disc_cost, 'generator': gen_cost}, train_op=[disc_step, gen_step],"
        " inputs={real: ring, noise: rng.randn(16, 2), alpha: rng.rand(16, 1)}",
        "rows = []",
        """
def step(real, noise, alpha):
    disc_cost, _, by_disc = critic(real, noise, alpha)
    disc_adam.apply_gradients(zip(by_disc, disc_vars))
    gen_cost, by_gen = generator(noise)
    gen_adam.apply_gradients(zip(by_gen, gen_vars))
    losses = {"critic": disc_cost, "generator": gen_cost}
    return losses, [*by_gen, *by_disc]
variables, optimizer = w, [disc_adam, gen_adam]
""",
        (("return tape.gradient(gen_cost", "return gen_cost, tape.gradient(gen_cost"),),
        traps={"first-order": [("0.1 * penalty", "0.1 * tf.stop_gradient(penalty)")]},
    ),
    Program(
        "cases/embeddings/graph",
        "loss=loss, inputs={}, train_op=step, gradients=list(zip(grads, w))",
        "rows = []",
        """
def step():
    loss, grads = gradients()
    adagrad.apply_gradients(zip(grads, w))
    return loss, grads
variables, optimizer = w, adagrad
""",
        (("return loss, norm, grads", "return loss, grads"),),
        traps={
            "repeated-rows": [
                (
                    "grads[0] = tf.IndexedSlices(values, ids",
                    "grads[0] = tf.IndexedSlices(g.values * 3, g.indices",
                )
            ],
            "accumulator-start": [("initial_accumulator_value=1.0, ", "")],
        },
    ),
    Program(
        "cases/actor-critic/graph",
        """
critic_gradient = tf.gradients(loss, critic)[0]
def step():
    tried = session.run(scaled_out)
    feed = {action: a, y: session.run(target)}
    last, by_critic = session.run([loss, critic_gradient], feed)
    session.run(train_critic, feed)
    [g] = session.run(action_grads, {action: tried})
    by_actor = session.run(grads, {action_gradient: g})
    session.run(train_actor, {action_gradient: g})
    session.run(follow)
    return last, [*by_actor, by_critic, None, None, None]
variables = [*actor, critic, *actor2, critic2]
""",
        "history = [",
        "variables = [*actor, critic, *actor2, critic2]",
        (
            # The optimizer of the old example keeps its rate in single precision.
            ("lr, gamma, tau = 8, 0.3,", "lr, gamma, tau = 8, float(np.float32(0.3)),"),
            (
                "critic.assign_sub(lr * tape.gradient(loss, critic))",
                "critic.assign_sub(lr * (by_critic := tape.gradient(loss, critic)))",
            ),
            (
                "return loss, tf.reduce_mean(out), reward",
                "return loss, [*[g / n for g in grads], by_critic, None, None, None]",
            ),
        ),
        traps={"sign": [("output_gradients=-action_gradient", "output_gradients=action_gradient")]},
    ),
    Program(
        "cases/bert-optimizer/graph",
        "loss=loss, inputs={}, train_op=train_op, gradients=list(zip(grads, weights))",
        "rows = []",
        "step, variables = train_step, weights",
        (
            (
                "return loss, tf.linalg.global_norm(grads), size",
                "return loss, tf.clip_by_global_norm(grads, 0.5)[0]",
            ),
        ),
        traps={"weight-decay": [("if any(n in k for n in EXCLUDED)", "if not k")]},
    ),
    Program(
        "cases/trpo/graph",
        "loss=surrogate[0], inputs={}, train_op=None, variables=pi, steps=1",
        "def fisher",
        """
def step():
    old = policy(*[tf.identity(v) for v in pi])
    gain, gradient = compute_gradient(old)
    return gain, tf.split(gradient, [2, 1, 1])
variables = pi
""",
    ),
    Program(
        "how-to/some-variables/graph",
        "loss=loss, inputs={}, train_op=train, variables=[a, b]",
        "print(",
        "return loss, [None, *gradients]\nvariables = [*body, *head]",
        body="with tf.Grad",
        traps={
            "not-trained": [
                ("tape.gradient(loss, head)", "tape.gradient(loss, body + head)"),
                ("zip(gradients, head)", "zip(gradients, body + head)"),
                ("[None, *gradients]", "gradients"),
            ]
        },
    ),
    Program(
        "how-to/mixed-precision/by_hand_graph",
        "loss=loss, inputs={}, train_op=train",
        "print(",
        "return loss, [gradient / 1024]\nvariables = [w]",
        body="with tf.Grad",
        traps={
            "loss-scale": [
                ("0.1, loss_scale_factor=1024.0", "0.1"),
                ("= optimizer.scale_loss(loss)", "= loss * 1024.0"),
                ("gradient / 1024", "gradient"),
            ]
        },
    ),
    Program(
        "how-to/train-through-a-gradient/maml_graph",
        "loss=meta_loss, inputs={}, train_op=None",
        "meta, first =",
        "return meta_loss, weights.gradient(meta_loss, [w, b])\nvariables = [w, b]",
        body="with tf.Grad",
        traps={
            "first-order": [
                (
                    "steps = inner.gradient(loss, fast)",
                    "steps = [tf.stop_gradient(g) for g in inner.gradient(loss, fast)]",
                )
            ]
        },
    ),
    Program(
        "how-to/train-through-a-gradient/pinn_graph",
        "loss=loss, inputs={}, train_op=None",
        "by_b =",
        "return loss, weights.gradient(loss, [a, b])\nvariables = [a, b]",
        body="with tf.Grad",
        traps={
            "first-order": [
                ("second.gradient(u_x, x)", "tf.stop_gradient(second.gradient(u_x, x))")
            ]
        },
    ),
    Program(
        "old-api/optimizers/graph",
        "loss=loss, inputs={}, train_op=train",
        "print(",
        "    return loss, gradients\nvariables = [w]",
        (("for _ in range(3):", "if True:"),),
        body="if True",
        traps={"learning-rate": [("SGD(0.1)", "SGD()")]},
    ),
]


def old_names(code):
    """Run an old example, and return its names; its session stays open, as at the start."""
    names, close = {}, tf.compat.v1.Session.close
    tf.compat.v1.Session.close = lambda session: None
    try:
        with contextlib.redirect_stdout(None):
            exec(code, names)  # noqa: S102 (our own example)
    finally:
        tf.compat.v1.Session.close = close
    with names["session"].graph.as_default():
        names["session"].run(tf.compat.v1.global_variables_initializer())
    return names


def recorded(program, code, path):
    """Record the old example of a program."""
    names = old_names(code)
    session = names["session"]
    with session.graph.as_default(), session.as_default():
        if "def step" in program.record:
            exec(program.record, names)  # noqa: S102
            record_step(path, names["step"], names["variables"], (), session=session)
        else:
            record(path, session, **eval(f"dict({program.record})", names))  # noqa: S307


def new_names(program, code, changes):
    """Run the new example of a program with some changes, and return what `compare` takes."""
    code = code[: code.index(program.until)]
    if program.body:
        place = code.index(program.body) if not program.changes else code.index("for _ in")
        head, body = code[:place], code[place:] + program.step.split("\n")[0]
        code = f"{head}def step():\n{textwrap.indent(body, '    ')}\n" + program.step.split("\n")[1]
    else:
        code += program.step
    for text, other in (*program.changes, *changes):
        if code.count(text) != 1:
            raise ValueError(f"{program.old}: {code.count(text)} times in the new example: {text}")
        code = code.replace(text, other)
    names = {}
    exec(code, names)  # noqa: S102
    return {name: names.get(name) for name in ("step", "variables", "optimizer")}


def reports_on(program, folder):
    """Return the prover's reports on a program: as it stands, under None, and with each trap."""
    examples = load_examples()
    path = str(Path(folder) / "old.npz")
    recorded(program, examples[f"{program.old}.md"].code, path)
    code = examples[f"{program.old.removesuffix('graph')}tape.md"].code
    return {
        cause: compare(path, **new_names(program, code, changes))
        for cause, changes in {None: (), **program.traps}.items()
    }


def table_of(found):
    """Return as a table what was said of each program, and of each trap."""
    rows = [ROW.format("program of the site", "as it stands", "trap put in", "cause named")]
    for program, reports in found:
        name = program.old.removesuffix("graph").rstrip("/_")
        said = reports[None].verdict
        for cause, report in list(reports.items())[1:] or [("", reports[None])]:
            named = report.cause.key if report.cause else "none" * bool(cause)
            rows.append(ROW.format(name, said, cause, named).rstrip())
            name = said = ""
    return "\n".join(rows)


def main():
    """Run every program, print what is said of it, and write it down."""
    with tempfile.TemporaryDirectory() as folder:
        table = table_of((program, reports_on(program, folder)) for program in PROGRAMS)
    print(table)
    PRINTED.write_text(f"{table}\n\nTensorFlow {tf.__version__}\n", "utf-8")


if __name__ == "__main__":
    main()
