"""The one file that proves a port runs on each of its readers' Pythons, and does what it says."""

import importlib.util
import inspect
import os
import subprocess
import sys
import textwrap

import pytest

from checks import ROOT
from finder.bundle import bundle
from prover.compare import compare
from prover.record import record
from tests.ports import new_port, recorded_port
from tests.test_finder_bundle import VERSIONS, python_of

BARE = "-I", "-S"  # without any package, also where the interpreter has some
# What TensorFlow 1.15.5 runs: the file is imported from its folder, and records.
ASK_TF1 = """
import sys
sys.path.insert(0, sys.argv[1])
import prove_gradients
import tensorflow.compat.v1 as tf
"""


def proved_by(python, *arguments):
    """Return the process in which a Python has run the file."""
    return subprocess.run(
        [python, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def prover_file(tmp_path_factory):
    """Write the file as a reader gets it."""
    file = tmp_path_factory.mktemp("prover") / "prove_gradients.py"
    file.write_text(bundle("https://example.org/gradients", ROOT / "prover"), "utf-8")
    return file


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Write an old record, a new one that is the same, and one with another rate."""
    v1 = pytest.importorskip("tensorflow").compat.v1
    folder = tmp_path_factory.mktemp("records")
    old = str(folder / "old.npz")
    recorded_port(old, record, v1)
    for name, rate in (("same", 0.1), ("other", 0.2)):
        compare(old, *new_port(rate=rate), save=str(folder / f"{name}.npz"))
    return folder


@pytest.fixture(params=["tests", "tf1"])
def numpy_python(request):
    """Return a Python with NumPy: a new one, and that of TensorFlow 1.15.5."""
    if request.param == "tests":
        return sys.executable
    return tf1_python()


def tf1_python():
    """Return the Python that has TensorFlow 1.15.5, or skip the test."""
    if not (python := os.environ.get("TF1_PYTHON")):
        reason = "No TensorFlow 1.15.5: `python3 noxfile.py -s snippets` says what failed."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return python


@pytest.mark.parametrize("version", VERSIONS)
def test_prover_helps_without_a_package(version, prover_file):
    """A bare Python gets help, and for a real call one line that says what to install."""
    python = python_of(version)
    if not python:
        pytest.skip(f"pyenv holds no Python {version}")
    helped = proved_by(python, *BARE, prover_file, "--help")
    assert helped.returncode == 0, helped.stderr
    assert "usage: prove_gradients.py" in helped.stdout
    asked = proved_by(python, *BARE, prover_file, "old.npz")
    assert asked.returncode == 2
    assert (asked.stdout, asked.stderr.count("\n")) == ("", 1), asked.stderr
    assert "NumPy is missing: python -m pip install numpy" in asked.stderr


def test_prover_says_what_a_record_holds(numpy_python, prover_file, records):
    """Steps, losses, inputs and weights, by name and shape, with NumPy alone."""
    told = proved_by(numpy_python, "-I", prover_file, records / "old.npz")
    assert told.returncode == 0, told.stderr
    assert "old.npz: 3 steps of TensorFlow 2." in told.stdout
    for line in (
        "input x: float32 (8, 3)",
        "input goal: float32 (8, 1)",
        "weight w: float32 (3, 4)",
        "weight v: float32 (4, 1)",
    ):
        assert line in told.stdout.splitlines()


def test_prover_compares_two_records(numpy_python, prover_file, records):
    """With NumPy alone: status 0 for the same, and 1, with the site's address, for another."""
    old = records / "old.npz"
    same = proved_by(numpy_python, "-I", prover_file, old, records / "same.npz")
    assert same.returncode == 0, same.stdout + same.stderr
    assert same.stdout.startswith("THE SAME: ")
    other = proved_by(numpy_python, "-I", prover_file, old, records / "other.npz")
    assert other.returncode == 1, other.stdout + other.stderr
    assert other.stdout.startswith("DIFFERS\n")
    assert "  see https://example.org/gradients/how-to/" in other.stdout


@pytest.mark.parametrize(
    "wrong", [[], ["--nonsense"], ["a.npz", "b.npz", "c.npz"], ["a.npz", "--picture", "p.svg"]]
)
def test_prover_answers_wrong_usage_with_2(wrong, prover_file):
    """The usage is printed, and nothing else happens."""
    done = proved_by(sys.executable, "-I", prover_file, *wrong)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: prove_gradients.py")


def test_prover_answers_records_of_two_programs_with_2(prover_file, records):
    """A second record that was not compared with the first is refused in one line."""
    done = proved_by(sys.executable, "-I", prover_file, records / "same.npz", records / "old.npz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "prove_gradients.py: the second record was not made by comparing with the first one\n"
    )


def test_file_records_on_tensorflow_1(prover_file, tmp_path):
    """On TensorFlow 1.15.5 it records a graph, and on this one finds the port the same."""
    old = str(tmp_path / "old.npz")
    program = ASK_TF1 + textwrap.dedent(inspect.getsource(recorded_port))
    program += "recorded_port(sys.argv[2], prove_gradients.record, tf)\n"
    done = proved_by(tf1_python(), "-I", "-c", program, prover_file.parent, old)
    assert done.returncode == 0, done.stderr[-2000:]
    spec = importlib.util.spec_from_file_location("prove_gradients", prover_file)
    proving = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(proving)
    report = proving.compare(old, *new_port())
    assert report.verdict == "the same", str(report)
    assert report.old.about["tensorflow"] == "1.15.5"
    assert proving.compare(old, *new_port(rate=0.2)).verdict == "differs"
