"""The command line: what a record holds, and two records compared."""

import os
import sys

from .arrays import np
from .compare import assert_same, compare
from .forms import NotComparable, load_record
from .record import record, record_step
from .verdict import judged

PUBLIC = (record, record_step, compare, assert_same)  # what a program imports from the file


def prover_options(arguments):
    """Return what is asked for on the command line."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="prove_gradients.py",
        description="Say what a record of a training step holds, or compare two records.",
        epilog="The old program writes a record with prove_gradients.record(...), and the new one "
        "with prove_gradients.compare(..., save=...). Exit status: 0 the same, 1 differs, "
        "2 not comparable, or wrong usage.",
    )
    parser.add_argument("old", help="the record of the old program, such as old.npz")
    parser.add_argument("new", nargs="?", help="what compare(..., save=...) wrote")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--picture", metavar="FILE", help="write an SVG: loss curves, differences")
    asked = parser.parse_args(arguments)
    if asked.picture and not asked.new:
        parser.error("--picture needs two records")
    return asked


def run_prover(arguments=None):
    """Run as a program; a name that cannot be printed, or a closed pipe, is no failure."""
    asked = prover_options(arguments)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    if np is None:
        print("prove_gradients.py: NumPy is missing: python -m pip install numpy", file=sys.stderr)
        return 2
    try:
        status = compare_command(asked)
        sys.stdout.flush()
    except NotComparable as error:
        print(f"prove_gradients.py: {error}", file=sys.stderr)
        status = 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    return status


def compare_command(asked):
    """Do what is asked for; return the exit status."""
    old = load_record(asked.old)
    if not asked.new:
        print(contents(old, asked.old))
        return 0
    report = judged(old, load_record(asked.new))
    if asked.picture:
        report.picture(asked.picture)
    print(report.json() if asked.format == "json" else report)
    return report.status


def contents(record, path):
    """Return what a record holds, as text."""
    lines = [
        f"{path}: {len(record.steps)} steps of TensorFlow {record.about['tensorflow']}",
        *(f"loss {name}: {np.mean(v):.6g}" for name, v in record.steps[0].losses.items()),
    ]
    for name, value in zip(record.about["inputs"], record.steps[0].inputs):
        lines.append(f"input {name}: {value.dtype} {value.shape}")
    lines += [f"weight {one.name}: {one.dtype} {one.shape}" for one in record.trained]
    lines += [f"other variable {one.name}: {one.dtype} {one.shape}" for one in record.others]
    return "\n".join(lines)
