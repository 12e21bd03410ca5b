"""Record programs on old releases of TensorFlow, and compare the records with ports on this one.

    python -m trials.releases [RELEASE ...]    by default 1.13 1.15 2.0 2.4 2.10

It prints a line for each record, and ends with status 1 if a right port is not called the same,
or one with another learning rate is.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflow as tf

from checks import ROOT
from finder.bundle import bundle
from prover.compare import compare
from releases.replay import chosen, environment
from trials import recording

PRINTED = ROOT / "trials/records.txt"
ROW = "{:13}" * (1 + len(recording.KINDS))
RELEASES = ["1.13", "1.15", "2.0", "2.4", "2.10"]


def ported(kind, rate=0.01):
    """Return the port of a kind of program: what `compare` takes.

    Args:
        kind: One of those of `recording`.
        rate: The learning rate; another than 0.01 is a fault.
    """
    w = {name: tf.Variable(tf.zeros(shape), name=name) for name, shape in recording.SHAPES.items()}
    if kind != "function":
        rate = tf.keras.optimizers.schedules.ExponentialDecay(rate, 1, 0.9)
    optimizer = tf.keras.optimizers.Adam(rate, epsilon=1e-8)

    def step(*batch):
        with tf.GradientTape() as tape:
            loss = recording.loss_of(tf, w, *batch)
        gradients = tape.gradient(loss, list(w.values()))
        # Keras does not add up the rows of slices.
        gradients = [tf.convert_to_tensor(one) for one in gradients]
        optimizer.apply_gradients(zip(gradients, w.values(), strict=True))
        return loss, gradients

    return step, list(w.values()), optimizer


def records_of(python, folder):
    """Record every kind of program with a Python, and yield the kinds and their files.

    Raises:
        SystemExit: A program could not be recorded.
    """
    file = Path(folder) / "prove_gradients.py"
    file.write_text(bundle("", ROOT / "prover"), "utf-8")
    program = shutil.copy(recording.__file__, folder)
    for kind in recording.KINDS:
        path = str(Path(folder) / f"{kind}.npz")
        done = subprocess.run(
            [python, program, kind, path], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{kind}: {done.stderr[-2000:]}")
        yield kind, path


def main(arguments):
    """Record and compare on each release; return whether something is not as it should be."""
    wrong, rows = False, [ROW.format("recorded on", *recording.KINDS)]
    for release in chosen(arguments or RELEASES):
        verdicts = []
        with environment(release) as python, tempfile.TemporaryDirectory() as folder:
            for kind, path in records_of(python, folder):
                right, other = compare(path, *ported(kind)), compare(path, *ported(kind, 0.011))
                verdicts.append(right.verdict)
                print(f"TensorFlow {release}, {kind}: {right.headline()}", flush=True)
                if right.verdict != "the same" or other.verdict != "differs":
                    wrong = True
                    print(f"{right}\nwith another rate: {other}")
        rows.append(ROW.format(release, *verdicts))
    if not arguments:
        table = "\n".join(row.rstrip() for row in rows)
        PRINTED.write_text(f"{table}\n\ncompared on TensorFlow {tf.__version__}\n", "utf-8")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
