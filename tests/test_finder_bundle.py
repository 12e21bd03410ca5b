"""The one file that readers download finds what the package finds, on each of their Pythons."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checks import ROOT, relative
from checks.snippets import files, read
from finder import bundle
from finder.find import find
from finder.rules import RULES

TEXTS = {
    **{relative(path): read(path).code for path in files()},
    **{relative(path): path.read_text("utf-8") for path in (ROOT / "tests/finder").glob("*.txt")},
}
VERSIONS = ["3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]
# Before 3.9, the parser names other lines of what is not Python 3: less of them is understood.
OLD_PARSER = ("call", "arguments", "certainty", "replacement", "how", "column", "notes")
# Prints all that the file finds in the texts that come in.
ASK = """
import json, runpy, sys
find = runpy.run_path(sys.argv[1])["find"]
texts = json.loads(sys.stdin.buffer.read().decode())
print(json.dumps({name: find(text, "code.py") for name, text in texts.items()}))
"""
# Prints what is bundled of the folders that are named, with the mapping that comes in.
BUNDLE = """
import json, sys
from pathlib import Path
from finder import bundle
bundle.held_mapping = lambda mapping=json.load(sys.stdin): mapping
print(json.dumps([bundle.bundle(folder=Path(folder)) for folder in sys.argv[1:]]))
"""
ROOMS = {
    "__main__": "from .low import known\n\nBASE = known",
    "low": "import re\n\nknown = re",
}
MISFITS = {  # each is a room of that name, and what is said of it
    "BASE is that of": {"low": "known = BASE = 1"},
    "print is Python's own": {"low": "known = print = 1"},
    "re is import re, and that of": {"low": "import re\n\nknown = re = 1"},
    "re is import re, and import regex as re": {
        "__main__": "import regex as re\nfrom .low import known"
    },
    "no room has BASE": {"__main__": "from .low import known"},
    "__main__ needs low needs __main__": {"low": "from .__main__ import BASE\n\nknown = 1"},
    "/low.py: write": {"low": "from . import other"},
    "low.py: write `from": {"low": "from .other import one as known"},
    "low.py: write `from .room": {"low": "def known():\n    from .other import one"},
    "low.py: write `from .room import name`": {"low": "known = 1\nfrom .other import one"},
    "other.py: no room needs it": {"other": "one = 1"},
}


def python_of(version):
    """Return the path of a Python, this one or one that pyenv holds, or None."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return next(home.glob(f"versions/{version}.*/bin/python"), None)


@functools.cache
def found_by_package():
    """Return all that the package finds, by the name of the text."""
    found = {name: json.loads(json.dumps(find(text, "code.py"))) for name, text in TEXTS.items()}
    assert sum(map(len, found.values())) > 900
    return found


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory):
    """Write the file as a reader gets it."""
    file = tmp_path_factory.mktemp("downloaded") / "find_gradients.py"
    file.write_text(bundle.bundle("https://example.org/gradients"), "utf-8")
    return file


@pytest.mark.parametrize("version", VERSIONS)
def test_one_file_finds_what_the_package_finds(version, downloaded):
    """In every example and miniature: the same findings, with the address of the site."""
    python = python_of(version)
    if not python:
        pytest.skip(f"pyenv holds no Python {version}")
    command = [python, "-I", "-W", "ignore", "-c", ASK, downloaded]
    done = subprocess.run(
        command, input=json.dumps(TEXTS).encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout.decode().replace("https://example.org/gradients/", ""))
    for name, ours in found_by_package().items():
        unlike = set()
        if version in ("3.7", "3.8") and "parsed" not in {one["how"] for one in ours}:
            unlike = OLD_PARSER
        same = [[{**one, **dict.fromkeys(unlike)} for one in side] for side in (found[name], ours)]
        assert same[0] == same[1], name


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_same_file_is_made_on_each_python(version):
    """Who installs it has any Python from 3.11 on; what the file holds depends on none."""
    python = python_of(version)
    if not python:
        pytest.skip(f"pyenv holds no Python {version}")
    folders = [ROOT / "finder", ROOT / "prover"]
    done = subprocess.run(
        [python, "-c", BUNDLE, *folders],
        input=json.dumps(RULES),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [bundle.bundle(folder=folder) for folder in folders]


def test_one_file_runs_alone(downloaded, tmp_path):
    """It needs no other file, and its status says that there is something to do."""
    code = tmp_path / "code.py"
    code.write_text("import tensorflow as tf\ntf.gradients(y, x)\n", "utf-8")
    command = [sys.executable, "-I", downloaded, code, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    (found,) = json.loads(done.stdout)["findings"]
    assert found["page"] == "https://example.org/gradients/parameters/"


@pytest.mark.parametrize("message", MISFITS)
def test_rooms_that_do_not_fit_stop_the_bundle(message, tmp_path):
    """Where one namespace would mean something else, nothing is published."""
    for misfits in ({}, MISFITS[message]):
        for name, code in {**ROOMS, **misfits}.items():
            (tmp_path / f"{name}.py").write_text(f'"""A room."""\n\n{code}\n', "utf-8")
        if misfits:
            with pytest.raises(ValueError, match=message):
                bundle.bundle(folder=tmp_path)
        else:
            bundle.bundle(folder=tmp_path)
