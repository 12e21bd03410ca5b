"""What the finder counts: by code, by path, by a comment, by settings, and against a baseline."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checks import ROOT
from finder.choice import NUMBERS
from finder.command import find_command

CODES = Path(__file__).parent / "finder/codes.txt"
TEXT = (
    "import tensorflow as tf\n"
    "g = tf.gradients(y, x)\n"
    "h = tf.hessians(y, x)\n"
    "opt = tf.train.AdamOptimizer()\n"
    "pairs = opt.compute_gradients(y)\n"
)


@pytest.fixture(autouse=True)
def code_folder(tmp_path, monkeypatch):
    """Go to a folder with one file."""
    (tmp_path / "a.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found_codes(capsys, *arguments):
    """Return the exit status and the codes that are found."""
    capsys.readouterr()
    status = find_command([*arguments, "--format", "json"])
    return status, [one["code"] for one in json.loads(capsys.readouterr().out)["findings"]]


def test_codes_never_change():
    """Comments and settings of readers hold them: a code that was given keeps its meaning."""
    given = [line.split(" ", 1) for line in CODES.read_text("utf-8").splitlines()]
    assert {number: rule.id for number, rule in NUMBERS.items()} == {a: b for a, b in given}, (
        f"Give a new rule a number that {CODES.name} does not have, and add a line for it there"
    )


def test_codes_are_chosen_by_their_beginning(capsys):
    """`--select` and `--ignore` take codes and what they begin with."""
    assert found_codes(capsys, "a.py") == (1, ["TFG101", "TFG102", "TFG201"])
    assert found_codes(capsys, "a.py", "--select", "TFG1") == (1, ["TFG101", "TFG102"])
    assert found_codes(capsys, "a.py", "--ignore", "TFG1,TFG201") == (0, [])
    both = found_codes(capsys, "a.py", "--select", "TFG1", "--ignore", "TFG102")
    assert both == (1, ["TFG101"])
    assert find_command(["a.py", "--select", "E501"]) == 2
    assert "E501 is no code; see them all: --explain all" in capsys.readouterr().err


def test_release_of_the_code_and_of_its_goal(code_folder, capsys):
    """`--since` leaves out what fails there already, `--target` what still works there."""
    (code_folder / "k.py").write_text(
        TEXT + "a = tf.keras.backend.gradients(y, x)\n"
        "b = tf.keras.optimizers.SGD().get_updates(y, x)\n"
    )
    old, updates, k = ["TFG101", "TFG102", "TFG201"], ["TFG305"], ["TFG308"]
    for asked, wanted in [
        (("--since", "1.15"), [*old, *k, *updates]),
        (("--since", "2.0"), [*k, *updates]),
        (("--since", "2.9", "--target", "2.15.1"), updates),
        (("--since", "2.11"), k),
        (("--target", "2.10"), old),
        (("--since", "2.16"), []),
    ]:
        assert found_codes(capsys, "k.py", *asked) == (bool(wanted), wanted), asked
    for wrong in ("2.x", "2", "latest"):
        assert find_command(["k.py", "--target", wrong]) == 2
        assert f"{wrong!r} is no release" in capsys.readouterr().err
    settings = "[tool.find-tf-gradients]\nsince = "
    (code_folder / "pyproject.toml").write_text(settings + '"2.9"')
    assert found_codes(capsys, "k.py")[1] == [*k, *updates]
    (code_folder / "pyproject.toml").write_text(settings + "2.10")  # a number is 2.1
    assert find_command(["k.py"]) == 2
    assert '2.1 is no release; write it as "2.10"' in capsys.readouterr().err


@pytest.mark.parametrize(
    "comment, left",
    [
        ("# noqa", ["TFG102", "TFG201"]),
        ("# noqa: TFG101", ["TFG102", "TFG201"]),
        ("# NOQA:E501, tfg101  # why", ["TFG102", "TFG201"]),
        ("# noqa: TFG102", ["TFG101", "TFG102", "TFG201"]),
        ("# noqathing", ["TFG101", "TFG102", "TFG201"]),
    ],
)
@pytest.mark.parametrize("kind", ["py", "ipynb", "one line of ipynb"])
def test_comment_silences_its_line(comment, left, kind, code_folder, capsys):
    """In a notebook, too, however it is packed; a code that is named silences no other one."""
    text = TEXT.replace("(y, x)\nh", f"(y, x)  {comment}\nh")
    if kind == "ipynb":
        cell = {"cell_type": "code", "source": text.splitlines(keepends=True)}
        text = json.dumps({"cells": [cell]}, indent=1)
    elif kind.endswith("ipynb"):
        cells = [{"cell_type": "code", "source": text}]
        text, kind = json.dumps({"cells": cells}), "ipynb"
    (code_folder / f"b.{kind}").write_text(text)
    assert found_codes(capsys, f"b.{kind}")[1] == left


def test_fix_leaves_a_silenced_line(code_folder):
    """What does not count is not changed."""
    line = "g = tape.gradient(ys=y, xs=x)  # noqa: TFG602\n"
    text = f"import tensorflow as tf\nwith tf.GradientTape() as tape:\n    y = x\n{line}"
    (code_folder / "b.py").write_text(text)
    assert find_command(["b.py", "--fix"]) == 0
    assert (code_folder / "b.py").read_text() == text


def test_baseline_leaves_what_is_new(code_folder, capsys):
    """It is written once; lines that move are known again, and one call more is new."""
    assert find_command(["a.py", "--baseline", "old.json"]) == 2
    assert "old.json: no baseline; write it with --write-baseline" in capsys.readouterr().err
    assert find_command(["a.py", "--write-baseline"]) == 2
    assert find_command(["a.py", "--baseline", "old.json", "--write-baseline"]) == 0
    assert "old.json: written, with 3 findings" in capsys.readouterr().err
    assert find_command(["./a.py", "--baseline", "../" + code_folder.name + "/old.json"]) == 0
    assert find_command(["a.py", "--baseline", "old.json"]) == 0
    assert "3 more are in the baseline." in capsys.readouterr().out
    (code_folder / "a.py").write_text(f"# moved\n\n{TEXT}i = tf.gradients(y, x)\n")
    assert found_codes(capsys, "a.py", "--baseline", "old.json") == (1, ["TFG101"])
    (code_folder / "old.json").write_text("[]")
    assert find_command(["a.py", "--baseline", "old.json"]) == 2
    assert "old.json: no baseline; write it" in capsys.readouterr().err


def test_settings_stand_in_pyproject(code_folder, capsys, monkeypatch):
    """Above, too; an option wins, and a setting that there is not is an error."""
    settings = code_folder / "pyproject.toml"
    settings.write_text('[tool.find-tf-gradients]\nselect = ["TFG1"]\nexclude = ["old*"]\n')
    inner = code_folder / "src/older"
    inner.mkdir(parents=True)
    (inner / "b.py").write_text(TEXT)
    assert found_codes(capsys, ".") == (1, ["TFG101", "TFG102"])
    assert found_codes(capsys, ".", "--select", "TFG2") == (1, ["TFG201"])
    monkeypatch.chdir(inner)
    assert found_codes(capsys, "b.py") == (1, ["TFG101", "TFG102"])  # named, so it is read
    settings.write_text("[tool.find-tf-gradients]\nselected = []\n")
    assert find_command(["b.py"]) == 2
    assert "selected is no setting; there are baseline, exclude" in capsys.readouterr().err
    settings.write_text("[tool.find-tf-gradients]\nselect = [\n")
    assert find_command(["b.py"]) == 2


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["src/b.py"], ["a.py", "src/c.py"]),
        (["./src/b.py"], ["a.py", "src/c.py"]),
        (["src/*"], ["a.py"]),
        (["src/"], ["a.py"]),
        (["a.py", "b.py"], ["src/c.py"]),
        (["a.py,c.py"], ["src/b.py"]),
        (["*/c.py"], ["a.py", "src/b.py"]),
    ],
)
def test_patterns_are_those_of_paths(patterns, left, code_folder, capsys, monkeypatch):
    """From where one stands, or from pyproject.toml; each option that is given counts."""
    (code_folder / "src").mkdir()
    for name in "bc":
        (code_folder / f"src/{name}.py").write_text("import tensorflow as tf\ntf.gradients(y, x)\n")

    def found_in(*arguments):
        capsys.readouterr()
        find_command([*arguments, "--format", "json"])
        found = json.loads(capsys.readouterr().out)["findings"]
        names = {Path(one["path"]).resolve() for one in found}
        return sorted(str(name.relative_to(code_folder.resolve())) for name in names)

    options = [part for one in patterns for part in ("--exclude", one)]
    for path in (".", "./", str(code_folder)):
        assert found_in(path, *options) == left, path
    settings = f"[tool.find-tf-gradients]\nexclude = {json.dumps(patterns)}\n"
    (code_folder / "pyproject.toml").write_text(settings)
    assert found_in(".") == left
    monkeypatch.chdir(code_folder / "src")
    assert found_in("..") == left
    assert found_in(".") == [one for one in left if "src" in one]


def test_repeated_codes_add_up(capsys):
    """The second `--select` does not take back the first."""
    assert found_codes(capsys, "a.py", "--select", "TFG101", "--select", "TFG2")[1] == [
        "TFG101",
        "TFG201",
    ]


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("exclude = [1]", "exclude is [1]; it must be a list of texts"),
        ("exclude = true", "exclude is True; it must be a list of texts"),
        ("select = 5", "select is 5; it must be a list of texts"),
        ("baseline = 3", "baseline is 3; it must be a text"),
        ('baseline = ["a"]', "baseline is ['a']; it must be a text"),
        ("since = 2.10", "since: 2.1 is no release"),
        ("target = []", "target: [] is no release"),
    ],
)
def test_setting_of_another_type_is_one_line(setting, says, code_folder, capsys):
    """It names the file and the setting, and is no traceback."""
    (code_folder / "pyproject.toml").write_text(f"[tool.find-tf-gradients]\n{setting}\n")
    assert find_command(["a.py"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"find_gradients.py: {code_folder / 'pyproject.toml'}: {says}")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("# [tool.find-tf-gradients]\n", ["TFG101", "TFG102", "TFG201"]),
        ("# find-tf-gradients\n[tool]\nother = 1\n", ["TFG101", "TFG102", "TFG201"]),
        ('[tool."find-tf-gradients"]\nselect = ["TFG2"]\n', ["TFG201"]),
        ('[ tool . find-tf-gradients ]\nselect = "TFG2"\n', ["TFG201"]),
        ('[tool]\nfind-tf-gradients = {select = ["TFG2"]}\n', ["TFG201"]),
    ],
)
def test_settings_are_read_as_toml(text, codes, code_folder, capsys):
    """However they are written, and not where a comment names them."""
    (code_folder / "pyproject.toml").write_text(text)
    assert found_codes(capsys, "a.py")[1] == codes


def test_settings_that_are_no_table_are_refused(code_folder, capsys):
    """No traceback there, either."""
    (code_folder / "pyproject.toml").write_text("[tool]\nfind-tf-gradients = 5\n")
    assert find_command(["a.py"]) == 2
    assert "pyproject.toml: " in capsys.readouterr().err


def test_codes_are_explained_and_counted(capsys):
    """One code, all of them, and how often each came."""
    assert find_command(["--explain", "TFG201"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("TFG201  compute_gradients: renamed") and "old-api/optimizers/" in shown
    assert find_command(["--explain", "all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(NUMBERS)
    assert find_command(["--explain", "TFG999"]) == 2
    find_command(["a.py", "a.py", "--statistics"])
    assert "     1  TFG101  tf.gradients\n     1  TFG102" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        find_command([])


def test_strict_is_red_where_nothing_was_read(code_folder, capsys):
    """A file that could not be read counts in the summary, and makes `--strict` exit with 2."""
    broken = {"binary.py": b"\x7fELF\0\1\2\3", "bad.ipynb": b'{"cells": "tf.gradients"}'}
    for name, data in broken.items():
        (code_folder / name).write_bytes(data)
        assert find_command([name]) == 0
        assert "0 files read: nothing found.\n1 could not be read" in capsys.readouterr().out
        assert find_command([name, "--strict"]) == 2
        assert find_command([name, "--strict", "--baseline", "old", "--write-baseline"]) == 2
    assert find_command(["a.py", "--strict"]) == 1
    capsys.readouterr()
    find_command([".", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["unread"] == 2


def test_nothing_to_look_at_is_said(code_folder, capsys, monkeypatch):
    """A folder without a file of Python, and a closed input, are told, and red when strict."""
    (code_folder / "empty").mkdir()
    assert find_command(["empty"]) == 0
    printed = capsys.readouterr()
    assert "empty: no file to look at" in printed.err and "1 could not be read" in printed.out
    assert find_command(["empty", "--strict"]) == 2
    monkeypatch.setattr("sys.stdin", None)
    assert find_command(["-"]) == 2
    assert "-: no such file, folder or input" in capsys.readouterr().err


def test_what_git_ignores_is_left_out(code_folder, capsys):
    """In a folder; a file that is named is read, and so is one that git has all the same."""
    for name in ("build/b.py", "kept/c.py", "inner/build/d.py"):
        (code_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (code_folder / name).write_text(TEXT)
    assert len(found_codes(capsys, ".")[1]) == 12
    (code_folder / ".gitignore").write_text("build/\nkept/\n")
    for command in ("init", "add -f kept/c.py"):
        subprocess.run(["git", *command.split()], check=True, capture_output=True)
    assert len(found_codes(capsys, ".")[1]) == 6
    assert len(found_codes(capsys, "inner")[1]) == 0
    assert len(found_codes(capsys, "build/b.py")[1]) == 3


def test_markdown_is_read_when_asked(code_folder, capsys):
    """Its Python alone, with the numbers of the file's lines."""
    text = f"# tf.gradients(y, x)\n\n```python\n{TEXT}```\n\n~~~text\ntf.gradients(y, x)\n~~~\n"
    (code_folder / "b.md").write_text(
        text + "\n1. So:\n\n   ```py\n   >>> tf.gradients(y, x)\n   ```\n"
    )
    assert found_codes(capsys, ".")[1] == ["TFG101", "TFG102", "TFG201"]
    assert len(found_codes(capsys, ".", "--markdown")[1]) == 7
    find_command(["b.md", "--format", "json"])
    lines = [one["line"] for one in json.loads(capsys.readouterr().out)["findings"]]
    assert lines == [5, 6, 8, 18]


def test_reads_what_it_took_for_binary(code_folder, capsys, monkeypatch):
    """UTF-16 without a mark, UTF-32 with one, and a notebook that comes in."""
    for mark, encoding in (("", "utf-16-le"), ("\ufeff", "utf-32-le"), ("\ufeff", "utf-32-be")):
        (code_folder / "b.py").write_bytes((mark + TEXT).encode(encoding))
        assert found_codes(capsys, "b.py")[1] == ["TFG101", "TFG102", "TFG201"]
    cell = {"cell_type": "code", "source": TEXT.splitlines(keepends=True)}
    done = subprocess.run(
        [sys.executable, "-m", "finder", "-"],
        input=json.dumps({"cells": [cell]}),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert re.findall(r"^-:1:\d+ \(cell 1, line (\d)\)  (TFG\d+)", done.stdout, re.M) == [
        ("2", "TFG101"),
        ("3", "TFG102"),
        ("5", "TFG201"),
    ]


def test_full_disk_is_one_line():
    """No traceback, and the status of what went wrong."""
    program = [sys.executable, "-m", "finder", ROOT / "tests/finder"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == b"find_gradients.py: No space left on device"
