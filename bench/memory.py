"""Print how much memory a gradient takes in different ways, relative to the first way.

Each figure comes from a process of its own: by how much the gradient raises its peak memory,
divided by the same for the first row of the column. Before that, the process takes the gradient of
something small, so that the code is in memory. Only ratios of one run are comparable. `--update`
writes the tables to the pages that show them.

One row is of TensorFlow 1.15.5, on the Python that TF1_PYTHON names, and missing without it.
"""

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EAGER, FUNCTION, GRAPH = "tape, eager", "tape in a tf.function", "tf.gradients in a tf.function"
COMPILED, SESSION = "tape, jit_compile=True", "Session.run, TensorFlow 1.15.5"
PLACES = {"eager": EAGER, "in tf.function": FUNCTION}
MODELS = {"chain": "ordinary", "layers": "layers"}
WAYS = {
    "recompute": ("ordinary", "each block", "whole target"),
    "memory": (
        "ordinary",
        "persistent, the old one in a list",
        "metric in the block",
        "half in stop_recording",
        "each block",
    ),
    "memory-weights": (
        "layers",
        "first half frozen",
        "last half asked for",
        "the same, jit_compile inside",
    ),
    "memory-jacobian": ("pfor", "parallel_iterations=16", "without pfor"),
}
BLOCKS, OPERATIONS, LAYERS, WIDTH, ROWS = 16, 8, 32, 64, 128
SMALL, LARGE = 2**13, 2**19  # the numbers in a tensor; a large one takes 2 MiB


def few_by_few(tf, block, x, **options):
    """Return the Jacobian of few numbers by few numbers, with many in between."""
    parts = x.shape[0] // 8 // ROWS
    x = x[:ROWS]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        hidden = block(tf.tile(x, (parts,)))
        y = tf.reduce_sum(tf.reshape(hidden, (-1, ROWS)), axis=0)
    return tape.jacobian(y, x, **options)


def ways(tf, place, way):
    """Return the ways to a gradient: functions of a tensor, by name."""
    half, tapes = LAYERS // 2, []
    fixed = half if way == "first half frozen" else 0
    weights = [tf.Variable(tf.eye(WIDTH) / 9, trainable=i >= fixed) for i in range(LAYERS)]
    trained = [w for w in weights if w.trainable]

    def block(x):
        for _ in range(OPERATIONS):
            x = tf.tanh(x)
        return x

    def chain(x, step=block, blocks=BLOCKS):
        for _ in range(blocks):
            x = step(x)
        return x

    def layers(x):
        x = tf.reshape(x, (-1, WIDTH))
        for w in weights:
            x = x + tf.nn.relu(tf.matmul(x, w) + 1.0)
        return x

    def gradient(x, target=chain, sources=None):
        if place in (GRAPH, SESSION):
            return tf.gradients(target(x), sources or x)
        with tf.GradientTape() as tape:
            tape.watch([] if sources else x)
            y = target(x)
        return tape.gradient(y, sources or x)

    def persistent(x):
        for _ in range(2):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = chain(x)
            found = tape.gradient(y, x)
            tapes.append(tape)
        return found

    def unrecorded(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tape.stop_recording():
                side = chain(x, blocks=BLOCKS // 2)
            y = chain(x + side, blocks=BLOCKS // 2)
        return tape.gradient(y, x)

    def metric(x):
        tf.reduce_max(chain(x))
        return chain(x)

    recomputed = getattr(tf, "recompute_grad", None)
    return {
        "ordinary": gradient,
        "layers": lambda x: gradient(x, layers, trained),
        "each block": lambda x: gradient(x, lambda x: chain(x, recomputed(block))),
        "whole target": lambda x: gradient(x, recomputed(chain)),
        "persistent, the old one in a list": persistent,
        "metric in the block": lambda x: gradient(x, metric),
        "half in stop_recording": unrecorded,
        "first half frozen": lambda x: gradient(x, layers, trained),
        "last half asked for": lambda x: gradient(x, layers, weights[half:]),
        "the same, jit_compile inside": lambda x: gradient(
            x, tf.function(layers, jit_compile=True), weights[half:]
        ),
        "pfor": lambda x: few_by_few(tf, block, x),
        "parallel_iterations=16": lambda x: few_by_few(tf, block, x, parallel_iterations=16),
        "without pfor": lambda x: few_by_few(tf, block, x, experimental_use_pfor=False),
    }[way]


def child(place, way):
    """Print by how many KiB the gradient raises the peak memory of this process."""
    import resource  # noqa: PLC0415 Windows has none

    import tensorflow as tf  # noqa: PLC0415 in the parent it would count for every child

    def used(numbers):
        run(numbers)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    if place == SESSION:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            size = tf.compat.v1.placeholder(tf.int32, [])
            x = tf.reshape(tf.fill([size], 1.0), [-1])
            result = ways(tf, place, way)(x)
            session.run(tf.compat.v1.global_variables_initializer())
            target = [tf.reduce_sum(g) for g in result]
            run = lambda numbers: session.run(target, {size: numbers})  # noqa: E731
            small = used(SMALL)
            print(used(LARGE) - small)
        return
    function = ways(tf, place, way)
    if place != EAGER:
        function = tf.function(function, jit_compile=place == COMPILED)
    run = lambda numbers: function(tf.ones(numbers))  # noqa: E731
    small = used(SMALL)
    print(used(LARGE) - small)


def growth(cell):
    """Return what a process of its own prints for a place and a way; None without TF1_PYTHON."""
    python = os.environ.get("TF1_PYTHON") if cell[0] == SESSION else sys.executable
    if not python:
        return None
    # Give what is freed back to the system, so that the peak is of what is in use at once.
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    run = subprocess.run([python, __file__, *cell], env=env, check=True, capture_output=True)
    return int(run.stdout)


def main():
    """Print the tables, and write them down with --update."""
    from importlib.metadata import version  # noqa: PLC0415 not in the Python of TensorFlow 1

    tables = {
        name: (PLACES, {way: [(place, way) for place in PLACES.values()] for way in names})
        for name, names in WAYS.items()
    }
    places = EAGER, FUNCTION, GRAPH, COMPILED, SESSION
    graph = {place: [(place, way) for way in MODELS.values()] for place in places}
    tables["memory-graph"] = MODELS, graph
    cells = dict.fromkeys(c for _, rows in tables.values() for row in rows.values() for c in row)
    with ThreadPoolExecutor(2) as pool:
        cells = dict(zip(cells, pool.map(growth, cells), strict=True))
    for name, (columns, rows) in tables.items():
        width = max(map(len, rows))
        report = " " * width + "".join(f"  {column:>5}" for column in columns) + "\n"
        first = [cells[cell] for cell in next(iter(rows.values()))]
        for label, row in rows.items():
            if any(cells[cell] is None for cell in row):
                continue
            kept = [cells[cell] / f for cell, f in zip(row, first, strict=True)]
            figures = (f"{k:.2g}" if k > 0.01 else "0" for k in kept)
            places = (f"  {f:>{max(5, len(c))}}" for c, f in zip(columns, figures, strict=True))
            report += f"{label:{width}}" + "".join(places) + "\n"
        report += f"\n{platform.machine()}, TensorFlow {version('tensorflow')}\n"
        print(report)
        if "--update" in sys.argv:
            Path(__file__).with_name(f"{name}.txt").write_text(report, "utf-8")


if __name__ == "__main__":
    child(*sys.argv[1:]) if sys.argv[2:] else main()
