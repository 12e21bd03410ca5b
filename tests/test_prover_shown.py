"""What the page about the prover shows is what its programs print."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from checks import ROOT, relative
from finder.bundle import bundle

PRINTED = ROOT / "prover/printed"
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-\d+)?")


def shown_text(name):
    """Return what the page shows."""
    return (PRINTED / f"{name}.txt").read_text("utf-8")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run the page's programs with the file that readers download; return what each prints."""
    folder = tmp_path_factory.mktemp("port")
    (folder / "prove_gradients.py").write_text(bundle(folder=ROOT / "prover"), "utf-8")
    new = shown_text("new")
    other = re.sub("^optimizer = .*\n", shown_text("other"), new, flags=re.M)
    assert other != new
    python = os.environ.get("TF1_PYTHON")
    if not python:
        pytest.skip("no TensorFlow 1.15.5: TF1_PYTHON names none")
    runs = [(python, "old", shown_text("old")), (sys.executable, "prints", new)]
    found = {}
    # TensorFlow 2 sets this for its children, and TensorFlow 1 would heed it.
    environment = {name: value for name, value in os.environ.items() if name != "TF2_BEHAVIOR"}
    for program, name, text in [*runs, (sys.executable, "differs", other)]:
        done = subprocess.run(
            [program, "-W", "ignore", "-c", text],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found[name] = done.stdout
    return found


@pytest.mark.parametrize("name", ["prints", "differs"])
def test_page_shows_what_is_printed(name, printed):
    """Words are the same, and numbers as near as rounding that differs by machine allows."""
    shown, now = shown_text(name), printed[name]
    # Lines are as long as their numbers let them be.
    assert NUMBER.sub("#", shown).split() == NUMBER.sub("#", now).split(), now
    numbers = [np.array(NUMBER.findall(text), float) for text in (shown, now)]
    # What rounding makes is small, and another on each machine; the rest is told to 3 digits.
    np.testing.assert_allclose(*numbers, rtol=2e-2, atol=3e-5)


def test_lines_to_add_stand_in_the_programs():
    """What is told first is what the programs do."""
    old, new = shown_text("lines").split("\n\n")
    for added, program in ((old, "old"), (new, "new")):
        _, *lines = added.rstrip("\n").split("\n")
        text = [line.strip() for line in shown_text(program).split("\n")]
        assert len(lines) == 2 and set(lines) <= set(text)


def test_page_shows_the_help():
    """It is what --help prints on a terminal of 80 columns."""
    command = [sys.executable, "-m", "prover", "--help"]
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    path = PRINTED / "help.txt"
    assert done.stdout == path.read_text("utf-8"), (
        f"{relative(path)} is old: COLUMNS=80 python -m prover --help > {relative(path)}"
    )
