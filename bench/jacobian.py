"""Print what the ways to a Jacobian cost, relative to pfor in a tf.function.

The target is y = tanh(W x) with n rows. Every figure is a median of one run, divided
by the figure of the same n for pfor in a tf.function; the tracing of a tf.function is
not counted. Only ratios of one run are comparable. `--update` writes the table to the
page on the old Jacobian functions.
"""

import os
import platform
import statistics
import sys
from pathlib import Path

import tensorflow as tf

from bench.speed import two_digits
from bench.speed_graph import seconds

TABLE = Path(__file__).with_suffix(".txt")
SIZES = 10, 100, 500


def sum_of_rows(w, x):
    """Return the gradient, which is the sum of the rows."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.tanh(tf.linalg.matvec(w, x))
    return tape.gradient(y, x)


def vectorised(w, x, pfor=True):
    """Return the Jacobian, its rows vectorised by pfor or in a while loop."""
    with tf.GradientTape(persistent=not pfor) as tape:
        tape.watch(x)
        y = tf.tanh(tf.linalg.matvec(w, x))
    return tape.jacobian(y, x, experimental_use_pfor=pfor)


def row_by_row(w, x):
    """Return the Jacobian by one call of `gradient` for each row."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(tf.linalg.matvec(w, x))
    units = tf.unstack(tf.eye(len(w)))
    return tf.stack([tape.gradient(y, x, output_gradients=unit) for unit in units])


def main():
    """Print the table, and write it down with --update."""
    ways = {
        "gradient": sum_of_rows,
        "pfor": vectorised,
        "no pfor": lambda w, x: vectorised(w, x, pfor=False),
        "loop": row_by_row,
    }
    functions = {("in tf.function", way): tf.function(f) for way, f in ways.items()}
    functions |= {("eager", way): f for way, f in ways.items()}
    table = {place: [] for place in functions}
    for n in SIZES:
        w = tf.random.stateless_normal((n, n), seed=(1, 2)) / n**0.5
        x = tf.random.stateless_normal((n,), seed=(3, 4))
        for function in functions.values():
            function(w, x)  # traces
        # In turn, so that a busy moment of the machine meets all of them.
        calls = [lambda f=f, w=w, x=x: f(w, x).numpy() for f in functions.values()]
        rounds = [[seconds(call, 0.1) for call in calls] for _ in range(5)]
        for costs, place in zip(zip(*rounds, strict=True), table, strict=True):
            table[place].append(statistics.median(costs))
    unit = table["in tf.function", "pfor"]
    report = f"{'':11}" + "".join(f"{f'n={n}':>8}" for n in SIZES) + "\n"
    for (place, way), costs in table.items():
        ratios = (two_digits(c / u) for c, u in zip(costs, unit, strict=True))
        report += f"{place}\n" if way == "gradient" else ""
        report += f"  {way:9}" + "".join(f"{ratio:>8}" for ratio in ratios) + "\n"
    cores = f"{os.cpu_count()} {platform.machine()} cores"
    report += f"\n{cores}, TensorFlow {tf.__version__}\n"
    print(report, end="")
    if "--update" in sys.argv:
        TABLE.write_text(report, "utf-8")


if __name__ == "__main__":
    main()
