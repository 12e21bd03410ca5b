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
AROUND, COMPILED = "tape around a tf.function", "tape, jit_compile=True"
SESSION, SESSION_1 = "Session.run", "Session.run, TensorFlow 1.15.5"
PLACES = {"eager": EAGER, "in tf.function": FUNCTION}
MODELS = {"chain": "ordinary", "layers": "layers"}
WAYS = {
    "recompute": ("ordinary", "each block", "whole target"),
    "memory": (
        "ordinary",
        "without a tape",
        "persistent, the name used again",
        "persistent, the old one in a list",
        "persistent, asked in its block",
        "metric in the block",
        "half behind stop_gradient",
        "half in stop_recording",
        "each block",
        "float16",
        "4 micro-batches",
        "4 micro-batches, tf.while_loop",
        "blocks in tf.while_loop",
    ),
    "memory-weights": (
        "layers",
        "first half frozen",
        "last half frozen",
        "last half asked for",
        "last half watched",
    ),
    "memory-jacobian": ("pfor", "parallel_iterations=16", "without pfor", "row by row"),
}
BLOCKS, OPERATIONS, LAYERS, WIDTH, ROWS = 16, 8, 32, 64, 128
SMALL, LARGE = 2**13, 2**19  # the numbers in a tensor; a large one takes 2 MiB


def jacobian(tf, block, x, **options):
    """Return the Jacobian of few numbers by few numbers, with many in between."""
    parts = x.shape[0] // 8 // ROWS
    x = x[:ROWS]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        hidden = block(tf.tile(x, (parts,)))
        y = tf.reduce_sum(tf.reshape(hidden, (-1, ROWS)), axis=0)
    if options.pop("rows", False):
        units = tf.unstack(tf.eye(ROWS))
        return tf.stack([tape.gradient(y, x, output_gradients=unit) for unit in units])
    return tape.jacobian(y, x, **options)


def ways(tf, place, way):
    """Return the ways to a gradient: functions of a tensor, by name."""
    half, tapes = LAYERS // 2, []
    fixed = {"first half frozen": slice(half), "last half frozen": slice(half, None)}
    fixed = range(LAYERS)[fixed[way]] if way in fixed else ()
    weights = [tf.Variable(tf.eye(WIDTH) / 9, trainable=i not in fixed) for i in range(LAYERS)]
    trained = [w for w in weights if w.trainable]

    def block(x):
        for _ in range(OPERATIONS):
            x = tf.tanh(x)
        return x

    def chain(x, step=block, blocks=BLOCKS):
        for _ in range(blocks):
            x = step(x)
        return x

    def loop(x):
        return tf.while_loop(lambda i, _: i < BLOCKS, lambda i, x: (i + 1, block(x)), (0, x))[1]

    def layers(x):
        x = tf.reshape(x, (-1, WIDTH))
        for w in weights:
            x = x + tf.nn.relu(tf.matmul(x, w) + 1.0)
        return x

    def gradient(x, target=chain, sources=None, watched=()):
        if place in (GRAPH, SESSION, SESSION_1):
            return tf.gradients(target(x), sources or x)
        run = tf.function(target) if place == AROUND else target
        with tf.GradientTape(watch_accessed_variables=not watched) as tape:
            tape.watch(watched or ([] if sources else x))
            y = run(x)
        return tape.gradient(y, sources or x)

    def persistent(x, keep=None, inside=False):
        for _ in range(1 if inside else 2):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = chain(x)
                found = tape.gradient(y, x) if inside else None
            found = found if inside else tape.gradient(y, x)
            if keep is not None:
                keep.append(tape)
        return found

    def partly(x, side):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x + side(x, tape)
            y = chain(y, blocks=BLOCKS // 2)
        return tape.gradient(y, x)

    def stopped(x, tape):
        return tf.stop_gradient(chain(x, blocks=BLOCKS // 2))

    def unrecorded(x, tape):
        with tape.stop_recording():
            return chain(x, blocks=BLOCKS // 2)

    def metric(x):
        tf.reduce_max(chain(x))
        return chain(x)

    def batches(x):
        return sum(gradient(part) for part in tf.split(x, 4))

    def batches_in_loop(x):
        parts = tf.reshape(x, (4, -1))
        start = 0, tf.zeros_like(parts[0])
        add = lambda i, total: (i + 1, total + gradient(parts[i]))  # noqa: E731
        return tf.while_loop(lambda i, _: i < 4, add, start)[1]

    recomputed = getattr(tf, "recompute_grad", None)
    return {
        "ordinary": gradient,
        "layers": lambda x: gradient(x, layers, trained),
        "without a tape": chain,
        "each block": lambda x: gradient(x, lambda x: chain(x, recomputed(block))),
        "whole target": lambda x: gradient(x, recomputed(chain)),
        "persistent, the name used again": persistent,
        "persistent, the old one in a list": lambda x: persistent(x, tapes),
        "persistent, asked in its block": lambda x: persistent(x, inside=True),
        "metric in the block": lambda x: gradient(x, metric),
        "half behind stop_gradient": lambda x: partly(x, stopped),
        "half in stop_recording": lambda x: partly(x, unrecorded),
        "float16": lambda x: gradient(tf.cast(x, tf.float16)),
        "4 micro-batches": batches,
        "4 micro-batches, tf.while_loop": batches_in_loop,
        "blocks in tf.while_loop": lambda x: gradient(x, loop),
        "first half frozen": lambda x: gradient(x, layers, trained),
        "last half frozen": lambda x: gradient(x, layers, trained),
        "last half asked for": lambda x: gradient(x, layers, weights[half:]),
        "last half watched": lambda x: gradient(x, layers, weights[half:], weights[half:]),
        "pfor": lambda x: jacobian(tf, block, x),
        "parallel_iterations=16": lambda x: jacobian(tf, block, x, parallel_iterations=16),
        "without pfor": lambda x: jacobian(tf, block, x, experimental_use_pfor=False),
        "row by row": lambda x: jacobian(tf, block, x, rows=True),
    }[way]


def child(place, way):
    """Print by how many KiB the gradient raises the peak memory of this process."""
    import resource  # noqa: PLC0415 Windows has none

    import tensorflow as tf  # noqa: PLC0415 in the parent it would count for every child

    def used(numbers):
        run(numbers)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    if place in (SESSION, SESSION_1):
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
    if place not in (EAGER, AROUND):
        function = tf.function(function, jit_compile=place == COMPILED)
    run = lambda numbers: function(tf.ones(numbers))  # noqa: E731
    small = used(SMALL)
    print(used(LARGE) - small)


def growth(cell):
    """Return what a process of its own prints for a place and a way; None without TF1_PYTHON."""
    python = os.environ.get("TF1_PYTHON") if cell[0] == SESSION_1 else sys.executable
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
    places = EAGER, AROUND, FUNCTION, GRAPH, COMPILED, SESSION, SESSION_1
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
