"""What is installed: a wheel of two files, commands, a hook, a plugin of flake8, an action."""

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
import zipfile

import pytest
import yaml

from checks import ROOT
from finder.wheel import OneFileEach

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TEXT = "import tensorflow as tf\ng = tf.gradients(y, x)\nh = tf.gradients(y, x)  # noqa: TFG101\n"


@pytest.fixture(scope="module")
def wheel_content(tmp_path_factory):
    """Make the wheel, and return the folder with what it holds."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        env={**os.environ, "SITE_URL": "https://example.org/gradients"},
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def one_file(tmp_path):
    """Make a folder with one file."""
    (tmp_path / "a.py").write_text(TEXT)
    return tmp_path


def run_installed(folder, code, *arguments, **more):
    """Run a line of Python that sees what is installed, and not this checkout."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def command(name):
    """Return the line of Python that a script of the project is."""
    module, function = PROJECT["scripts"][name].split(":")
    return f"import {module}; {module}.{function}()"


def test_wheel_holds_two_files(wheel_content):
    """And no module by a name that others may have."""
    names = {path.name for path in wheel_content.iterdir() if path.suffix != ".dist-info"}
    assert names == {"find_gradients.py", "prove_gradients.py"}


def test_commands_run(wheel_content, one_file):
    """The finder and the prover, which say the version of pyproject.toml."""
    done = run_installed(wheel_content, command("find-tf-gradients"), "--version", cwd=one_file)
    assert done.stdout.strip() == PROJECT["version"]
    find = command("find-tf-gradients")
    done = run_installed(wheel_content, find, "--explain", "TFG101", cwd=one_file)
    assert done.stdout.endswith("  see: https://example.org/gradients/parameters/\n")
    done = run_installed(wheel_content, find, ".", "--format", "sarif", cwd=one_file)
    assert (done.returncode, done.stderr) == (1, "")
    driver = json.loads(done.stdout)["runs"][0]["tool"]["driver"]
    assert driver["version"] == PROJECT["version"]
    done = run_installed(wheel_content, command("prove-tf-gradients"), "--help", cwd=one_file)
    assert done.stdout.startswith("usage: prove_gradients.py")


def test_flake8_runs_the_plugin(wheel_content, one_file):
    """Its own select and noqa work on the codes."""
    flake8 = "from flake8.main.cli import main; raise SystemExit(main())"
    done = run_installed(wheel_content, flake8, "--select", "TFG", ".", cwd=one_file)
    assert done.stderr == ""
    [line] = done.stdout.splitlines()
    assert line.startswith("./a.py:2:5: TFG101 tf.gradients(y, x): renamed; write tape.gradient(")


def test_hook_calls_a_command_that_is_there():
    """With options that it knows, on the files that it reads."""
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    name, *options = hook["entry"].split()
    assert name in PROJECT["scripts"] and options == ["--strict"]
    assert hook["language"] == "python" and hook["types_or"] == ["python", "pyi", "jupyter"]


@pytest.mark.parametrize(
    "text, status, found", [(TEXT, 0, "true"), ("", 0, "false"), (None, 2, ""), (TEXT, 2, "")]
)
def test_action_runs_its_step(wheel_content, one_file, text, status, found):
    """What is found is no failure of the step; a path that is not there, and no finder, is."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    step = action["runs"]["steps"][0]
    if text is not None:
        (one_file / "a.py").write_text(text)
    pipx = one_file / "bin/pipx"  # pipx run --spec FOLDER COMMAND ...
    pipx.parent.mkdir()
    run = f'shift 4\nexec {sys.executable} -c "{command("find-tf-gradients")}" "$@"'
    pipx.write_text(f"#!/bin/sh\n{run if found or text is None else 'exit 1'}\n")
    pipx.chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=one_file,
        env={
            "PATH": f"{pipx.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(wheel_content),
            "HOME_OF_ACTION": str(ROOT),
            "PATHS": "a.py" if text is not None else "nowhere",
            "OPTIONS": "",
            "GITHUB_OUTPUT": str(one_file / "output"),
        },
        check=False,
    )
    assert done.returncode == status
    if found:
        assert (one_file / "output").read_text() == f"found={found}\n"
        results = json.loads((one_file / "find-tf-gradients.sarif").read_text())["runs"][0][
            "results"
        ]
        assert len(results) == (found == "true")


def test_plugin_is_not_installed_here():
    """Else flake8 would run the one in the environment, and not the one that was made."""
    names = {one.name for one in importlib.metadata.entry_points(group="flake8.extension")}
    assert "TFG" not in names


def test_older_python_is_told_what_it_needs(monkeypatch):
    """The pages are read when it is built, and pip asks for `requires-python` after."""
    monkeypatch.setattr(sys, "version_info", (3, 10))
    with pytest.raises(SystemExit, match="needs Python 3"):
        OneFileEach.initialize(None, "standard", {})
