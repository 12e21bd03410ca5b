"""Print what the ways to a gradient cost, relative to a tape in a tf.function.

The models, and their training by session.run, stand in bench/speed_graph.py. That the ways of a
table give the same gradients is checked first. They take NumPy arrays, where nothing else is said,
and a step returns its loss to NumPy, as a session does. The ways of a table are timed in turn, in
five rounds. Every figure is the median over the rounds of its time divided by that of the first
row in the same round and column; only ratios of one run are comparable.
TensorFlow 1.15.5 joins in where TF1_PYTHON names a Python that has it, as `nox -s bench` does.
`--update` writes the tables to bench/speed/, from which the page on speed takes them.
"""

import functools
import itertools
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from bench import speed_graph
from bench.speed_graph import BATCH, RATE, WAYS, WIDTH, loss, outputs, seconds, start

TABLES = Path(__file__).with_suffix("")
PYTHONS = {tf.__version__: sys.executable, "1.15.5": os.environ.get("TF1_PYTHON")}


def gradient(model, weights, x, labels, **options):
    """Return the loss and its gradients by a tape."""
    with tf.GradientTape(**options) as tape:
        target = loss(model, weights, x, labels)
    return target, tape.gradient(target, weights)


def inside(model, weights, x, labels):
    """Return the same, asked for in the block of the tape."""
    with tf.GradientTape(persistent=True) as tape:
        target = loss(model, weights, x, labels)
        return target, tape.gradient(target, weights)


def around(forward, model, weights, x, labels):
    """Return the same by an eager tape around `forward`, a tf.function."""
    with tf.GradientTape() as tape:
        target = forward(x, labels)
    return target, tape.gradient(target, weights)


def old(model, weights, x, labels):
    """Return the same by tf.gradients."""
    target = loss(model, weights, x, labels)
    return target, tf.gradients(target, weights)


def old_last(model, weights, x, labels):
    """Return the gradient by the last layer, by tf.gradients."""
    return tf.gradients(loss(model, weights, x, labels), weights[-1])


def last(model, weights, x, labels, **options):
    """Return the gradient by the last layer, by a tape."""
    with tf.GradientTape(**options) as tape:
        if options:
            tape.watch(weights[-1])
        target = loss(model, weights, x, labels)
    return tape.gradient(target, weights[-1])


def each(model, weights, x, labels):
    """Return the same by a call for each source."""
    with tf.GradientTape(persistent=True) as tape:
        target = loss(model, weights, x, labels)
    return target, [tape.gradient(target, weight) for weight in weights]


def two_losses(model, weights, x, labels, apart=False):
    """Return the gradients of two losses of the same outputs, of their sum or of each."""
    with tf.GradientTape(persistent=apart) as tape:
        y = outputs(model, weights, x)
        both = [tf.reduce_mean((y - labels) ** 2), tf.reduce_mean((y + labels) ** 2)]
    return [tape.gradient(one, weights) for one in both] if apart else tape.gradient(both, weights)


def step(ask, model, weights, x, labels):
    """Train by one step and return the loss."""
    target, grads = ask(model, weights, x, labels)
    for weight, grad in zip(weights, grads, strict=True):
        weight.assign_sub(RATE * grad)
    return target


def agree(*results):
    """Insist that all results are the same."""
    for result in results[1:]:
        for one, other in zip(tf.nest.flatten(results[0]), tf.nest.flatten(result), strict=True):
            scale = np.max(np.abs(one))
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-3 * scale)


def timed(function, *args):
    """Return a cell of a table, which times calls of `function`."""
    return lambda: seconds(lambda: function(*args))


def fetched(function, *args):
    """Return a cell that times a step and hands out its loss as NumPy."""
    return lambda: seconds(lambda: function(*args).numpy())


def first(function, *args, **options):
    """Return a cell that times the first call of a new tf.function."""
    return lambda: seconds(lambda: tf.function(function, **options)(*args), 0)


def asked(process, *question):
    """Return a cell that bench/speed_graph.py times in `process`."""

    def cell():
        print(*question, sep=": ", file=process.stdin, flush=True)
        return float(process.stdout.readline())

    return cell


def prepared(model):
    """Return a model, its weights as variables, and a batch."""
    weights, x, labels = start(model)
    return model, [tf.Variable(weight) for weight in weights], x, labels


def steps(model, processes):
    """Return the ways to a step of training."""
    args = prepared(model)
    [_, weights, *batch] = args
    asks = gradient, functools.partial(gradient, persistent=True), old
    new, kept, way = (functools.partial(step, ask, model, weights) for ask in asks)
    forward = tf.function(functools.partial(loss, model, weights))
    wrapped = functools.partial(around, forward)
    same = [tf.function(functools.partial(ask, *args[:2]))(*batch) for ask in asks]
    agree(*same, gradient(*args), wrapped(*args), tf.function(gradient, jit_compile=True)(*args))
    total = sum(np.abs(grad).sum(dtype="float64") for grad in same[0][1])
    agree(total, *(asked(process, model, WAYS[3])() for process in processes.values()))
    cells = {
        "tape in tf.function": fetched(tf.function(new), *batch),
        "  batch as tensors": fetched(tf.function(new), *map(tf.constant, batch)),
        "  weights as arguments": fetched(tf.function(step), gradient, *args),
        "  persistent=True": fetched(tf.function(kept), *batch),
        "  jit_compile=True": fetched(tf.function(new, jit_compile=True), *batch),
        "tf.gradients, tf.function": fetched(tf.function(way), *batch),
        "eager tape": fetched(new, *batch),
        "eager, persistent=True": fetched(kept, *batch),
        "eager around a tf.function": fetched(step, wrapped, *args),
    }
    for release, process in processes.items():
        for way in WAYS[:2]:
            cells[f"{way}, {release}"] = asked(process, model, way)
    return cells


def firsts(model, processes):
    """Return what the first call costs."""
    [_, weights, *batch] = prepared(model)
    new, way = (functools.partial(step, ask, model, weights) for ask in (gradient, old))
    cells = {
        "later call": timed(tf.function(new), *batch),
        "tape in tf.function": first(new, *batch),
        "  jit_compile=True": first(new, *batch, jit_compile=True),
        "tf.gradients, tf.function": first(way, *batch),
    }
    for release, process in processes.items():
        cells[f"session.run, {release}"] = asked(process, model, WAYS[2])
    return cells


def lengths(model):
    """Return the ways to a step with a batch of a length that was not there before."""
    ask = functools.partial(step, gradient, *prepared(model)[:2])
    spec = [tf.TensorSpec((None, WIDTH[model]))] * 2

    def timed(function, new=20):
        # Of about the same length on average; what traces does not come round.
        sizes = itertools.cycle(range(BATCH[model] - new, BATCH[model] + new + 1))

        def call():
            function(*np.ones((2, next(sizes), WIDTH[model]), "float32"))

        call(), call()  # reduce_retracing needs two lengths
        return lambda: seconds(call, 0.02)

    return {
        "same length": timed(tf.function(ask), new=0),
        "new length": timed(tf.function(ask)),
        "  reduce_retracing=True": timed(tf.function(ask, reduce_retracing=True)),
        "  input_signature": timed(tf.function(ask, input_signature=spec)),
        "    jit_compile=True": timed(tf.function(ask, input_signature=spec, jit_compile=True)),
        "  eager": timed(ask),
    }


def questions(model, compiled):
    """Return what several questions cost, and questions for less."""
    [_, weights, *batch] = prepared(model)
    ways = {
        "a list of sources": gradient,
        "  persistent=True": functools.partial(gradient, persistent=True),
        "  and inside its block": inside,
        "a call for each source": each,
        "last layer alone": last,
        "  watched alone": functools.partial(last, watch_accessed_variables=False),
        "  by tf.gradients": old_last,
        "two losses, added up": two_losses,
        "two losses, each": functools.partial(two_losses, apart=True),
    }
    if not compiled:
        del ways["  by tf.gradients"]  # which eager code refuses
    ways = {row: functools.partial(way, model, weights) for row, way in ways.items()}
    ways = {row: tf.function(way) if compiled else way for row, way in ways.items()}
    results = [way(*batch) for way in ways.values()]
    *sums, (one, other) = results[len(results) - 2 :]
    agree(*results[:4])
    agree(results[0][1][-1], *(tf.nest.flatten(result) for result in results[4:-2]))
    agree(*sums, [a + b for a, b in zip(one, other, strict=True)])
    return {row: timed(way, *batch) for row, way in ways.items()}


def vector_jacobian(y, x, v):
    """Return the vector-Jacobian product."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        target = y(x)
    return tape.gradient(target, x)


def forward_mode(y, x, v):
    """Return the Jacobian-vector product by an accumulator."""
    with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
        target = y(x)
    return accumulator.jvp(target)


def two_tapes(y, x, v):
    """Return the Jacobian-vector product by the gradient of a gradient."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        target = y(x)
    dummy = tf.ones_like(target)
    with tf.GradientTape() as outer:
        outer.watch(dummy)
        first = tape.gradient(target, x, output_gradients=dummy)
    return outer.gradient(first, dummy, output_gradients=v)


def pfor(y, x, v):
    """Return the Jacobian, its rows vectorised."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        target = y(x)
    return tape.jacobian(target, x)


def by_columns(y, x, v):
    """Return the Jacobian, its columns by forward mode and vectorised."""
    return tf.transpose(tf.vectorized_map(lambda unit: forward_mode(y, x, unit), tf.eye(len(x))))


def directions(inputs, outputs, compiled):
    """Return the ways to products with a Jacobian, and to the whole of it."""
    random = np.random.RandomState(0)
    weights = [
        tf.constant(random.randn(*s) / 10, tf.float32) for s in ((100, inputs), (outputs, 100))
    ]
    x = v = tf.ones(inputs)

    def y(x):
        for weight in weights:
            x = tf.tanh(tf.linalg.matvec(weight, x))
        return x

    ways = {
        "gradient": vector_jacobian,
        "Jv, ForwardAccumulator": forward_mode,
        "Jv, two tapes": two_tapes,
        "J, tape.jacobian": pfor,
        "J, forward, vectorized_map": by_columns,
    }
    ways = {row: functools.partial(way, y) for row, way in ways.items()}
    ways = {row: tf.function(way) if compiled else way for row, way in ways.items()}
    grad, jv, other, rows, columns = (way(x, v) for way in ways.values())
    agree(rows, columns)
    agree(tf.reduce_sum(rows, 0), grad)
    agree(tf.linalg.matvec(rows, v), jv, other)
    return {row: timed(way, x, v) for row, way in ways.items()}


def train(model, x, labels):
    """Train a Keras model by one step."""
    with tf.GradientTape() as tape:
        target = tf.reduce_mean((model(x, training=True) - labels) ** 2)
    weights = model.trainable_variables
    model.optimizer.apply(tape.gradient(target, weights), weights)


def epochs(size):
    """Return the ways to an epoch of a Keras model."""
    weights, *batch = start(size)
    batches = tf.data.Dataset.from_tensors(tuple(batch)).repeat(20)

    models = []

    def model(**options):
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Dense(WIDTH[size], "tanh") for _ in weights]
        model = keras.Sequential([keras.Input((WIDTH[size],)), *layers])
        model.compile(keras.optimizers.SGD(RATE), "mse", **options)
        model.optimizer.build(model.trainable_variables)
        models.append(model)
        return model

    def own(**options):
        function = functools.partial(train, model())
        function = tf.function(function, **options) if options else function

        def epoch():
            for x, labels in batches:
                function(x, labels)

        return epoch

    def inside():
        one = model()

        @tf.function
        def epoch(iterator):
            for _ in tf.range(len(batches)):
                train(one, *next(iterator))

        return lambda: epoch(iter(batches))

    def fit(**options):
        return functools.partial(model(**options).fit, batches, verbose=0, shuffle=False)

    calls = {
        "a tf.function in a loop": own(jit_compile=False),
        "  jit_compile=True": own(jit_compile=True),
        "a loop in a tf.function": inside(),
        "an eager loop": own(),
        "fit": fit(),
        "fit, jit_compile=True": fit(jit_compile=True),
        "fit, run_eagerly=True": fit(run_eagerly=True),
    }
    for call in calls.values():
        call()
    agree(*(model.get_weights() for model in models))
    return {row: timed(call) for row, call in calls.items()}


def table(title, columns):
    """Return the lines of a table, whose columns name the cells of their rows."""
    rows = list(dict.fromkeys(itertools.chain.from_iterable(columns.values())))
    lines = [f"{title:28}" + "".join(f"{name:>9}" for name in columns)]
    ratios = {name: {row: [] for row in cells} for name, cells in columns.items()}
    for cells in columns.values():
        for cell in cells.values():
            cell()  # traces
    # In turn, so that a busy moment of the machine meets all of them.
    for _ in range(5):
        for name, cells in columns.items():
            passed = {row: cell() for row, cell in cells.items()}
            for row, cost in passed.items():
                ratios[name][row].append(cost / next(iter(passed.values())))
    for row in rows:
        figures = (
            two_digits(statistics.median(ratios[name][row])) if row in ratios[name] else "-"
            for name in columns
        )
        lines.append(f"  {row:26}" + "".join(f"{text:>9}" for text in figures))
    cores = f"{os.cpu_count()} {platform.machine()} cores"
    return "\n".join([*lines, "", f"{cores}, TensorFlow {tf.__version__}", ""])


def two_digits(ratio):
    """Write a ratio with two digits, or as a whole number."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"


def main():
    """Print the tables, and write them down with --update."""
    tf.get_logger().setLevel("ERROR")
    command = [speed_graph.__file__]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = {
        release: subprocess.Popen([python, *command], **pipes)
        for release, python in PYTHONS.items()
        if python
    }
    every, two = tuple(BATCH), ("small", "large")
    shapes = (2, 1000), (1000, 2), (300, 300)
    tables = {
        "steps": ("a step of training", {m: steps(m, processes) for m in every}),
        "firsts": ("the first call", {m: firsts(m, processes) for m in two}),
        "lengths": ("a batch of", {m: lengths(m) for m in two}),
        "function": ("in tf.function", {m: questions(m, True) for m in every}),
        "eager": ("eager", {m: questions(m, False) for m in every}),
        "jacobian": (
            "in tf.function, J is",
            {f"{m}x{n}": directions(n, m, True) for n, m in shapes},
        ),
        "eager_jacobian": (
            "eager, J is",
            {f"{m}x{n}": directions(n, m, False) for n, m in shapes},
        ),
        "keras": ("an epoch of a Keras model", {m: epochs(m) for m in two}),
    }
    for name, content in tables.items():
        report = table(*content)
        print(report)
        if "--update" in sys.argv:
            TABLES.joinpath(name).with_suffix(".txt").write_text(report, "utf-8")
    for process in processes.values():
        process.communicate()


if __name__ == "__main__":
    main()
