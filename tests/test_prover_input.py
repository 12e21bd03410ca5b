"""Whatever the prover is given: one clear line, never a traceback, never half a file."""

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from checks import ROOT
from prover.compare import assert_same, compare
from prover.forms import NotComparable, load_record
from prover.record import record, record_step
from tests.ports import NewPort, new_port, recorded_port

v1 = tf.compat.v1
AGAIN = "record it again"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Write a record of the tiny program, and nothing beside it."""
    path = tmp_path_factory.mktemp("whole") / "old.npz"
    recorded_port(str(path), record, v1)
    assert list(path.parent.iterdir()) == [path]
    return str(path)


def line_that_refuses(report):
    """Return the one line that says why a report compares nothing."""
    assert (report.verdict, report.status) == ("not comparable", 2), str(report)
    (line,) = report.notes
    assert line and "\n" not in line
    assert str(report).split() == f"NOT COMPARABLE {line}".split()
    assert '"not comparable"' in report.json()
    return line


def refusal_of(call, *arguments, **more):
    """Return the one line with which a call refuses."""
    with pytest.raises(NotComparable) as refused:
        call(*arguments, **more)
    line = str(refused.value)
    assert line and "\n" not in line
    return line


def run_as_program(*arguments):
    """Return the process in which the command line has run."""
    return subprocess.run(
        [sys.executable, "-m", "prover", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


# ------------------------------------------------------------- the record


def test_missing_record_is_named(tmp_path):
    """The line names the file and what writes it."""
    path = str(tmp_path / "old.npz")
    line = line_that_refuses(compare(path, *new_port()))
    assert f"{path} does not exist" in line and "prove_gradients.record" in line
    with pytest.raises(AssertionError, match=r"does\s+not\s+exist"):
        assert_same(path, *new_port())
    done = run_as_program(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"prove_gradients.py: {line}\n"


@pytest.mark.parametrize("share", [0, 0.0001, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_cut_record_is_refused(share, whole, tmp_path):
    """Wherever a copy broke off: the line names the file and what mends it."""
    path = tmp_path / "cut.npz"
    every = Path(whole).read_bytes()
    path.write_bytes(every[: int(len(every) * share)])
    line = line_that_refuses(compare(str(path), *new_port()))
    assert f"{path} is no record, or a part of it is missing" in line and AGAIN in line
    assert "pickle" not in line, "the line invites to load what could run code"
    done = run_as_program(path)
    assert (done.returncode, done.stderr) == (2, f"prove_gradients.py: {line}\n")


def test_record_without_its_last_byte_is_refused(whole, tmp_path):
    """A zip file ends with its list of contents."""
    path = tmp_path / "cut.npz"
    path.write_bytes(Path(whole).read_bytes()[:-1])
    assert AGAIN in line_that_refuses(compare(str(path), *new_port()))


def test_damaged_record_is_refused(whole, tmp_path):
    """One byte changed, wherever it stands, is refused, or changes no number."""
    every, path = Path(whole).read_bytes(), tmp_path / "damaged.npz"
    kept, wrong = load_record(whole), {}
    size = len(every)
    # A zip file tells at the beginning and at the end how to read what is between.
    for place in {*range(200), *range(0, size, 61), *range(size - 200, size)}:
        path.write_bytes(every[:place] + bytes([every[place] ^ 0x5A]) + every[place + 1 :])
        try:
            read = load_record(str(path))
        except NotComparable as refused:
            assert f"{path} is no record" in str(refused), place
        except Exception as error:
            wrong[type(error).__name__] = f"byte {place}: {error}"
        else:
            assert all(map(np.array_equal, read.start, kept.start)), place
    assert not wrong


def no_text(path):
    """Write a text."""
    path.write_text("step,loss\n1,0.5\n", "utf-8")


def no_zip(path):
    """Write one array, as `np.save` does."""
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def no_about(path):
    """Write arrays that are no record."""
    with path.open("wb") as file:
        np.savez(file, w=np.zeros(3))


def other_about(path):
    """Write arrays of which one is called as in a record, and holds something else."""
    with path.open("wb") as file:
        np.savez(file, about=np.array("[1, 2]"))


def pickled(path):
    """Write an array of objects, which could run code where it is read."""
    with path.open("wb") as file:
        np.savez(file, about=np.array([{}], object), allow_pickle=True)


@pytest.mark.parametrize("write", [no_text, no_zip, no_about, other_about, pickled, Path.mkdir])
def test_what_is_no_record_is_refused(write, tmp_path):
    """A text, one array, other arrays, objects, a folder."""
    path = tmp_path / "old.npz"
    write(path)
    line = line_that_refuses(compare(str(path), *new_port()))
    assert f"{path} is no record, or a part of it is missing" in line and AGAIN in line
    assert "np.load" not in line and "allow_pickle" not in line, line


@pytest.mark.parametrize("name", ["about", "start/1", "after/0/0", "inputs/1/0", "losses/2/0"])
def test_record_without_a_part_is_refused(name, whole, tmp_path):
    """Each array in the file is needed."""
    with np.load(whole) as file:
        arrays = {one: file[one] for one in file.files if one != name}
    path = tmp_path / "part.npz"
    with path.open("wb") as file:
        np.savez(file, **arrays)
    line = line_that_refuses(compare(str(path), *new_port()))
    assert f"{path} is no record, or a part of it is missing" in line and AGAIN in line


def test_record_of_another_format_is_refused(whole, tmp_path):
    """A later file may write something else."""
    with np.load(whole) as file:
        arrays = dict(file)
    arrays["about"] = np.array(str(arrays["about"]).replace('"format": 1', '"format": 99'))
    path = tmp_path / "later.npz"
    with path.open("wb") as file:
        np.savez(file, **arrays)
    line = line_that_refuses(compare(str(path), *new_port()))
    assert f"{path} has format 99" in line and "one prove_gradients.py for both sides" in line


def test_record_with_nan_is_refused(tmp_path):
    """A program whose own numbers are lost proves nothing."""
    path = str(tmp_path / "old.npz")
    recorded_port(path, record, v1, grow=float("nan"))
    line = line_that_refuses(compare(path, *new_port()))
    assert "the record itself holds NaN or infinity: loss in step 1" in line
    assert "Record a step whose numbers are finite" in line


# ------------------------------------------------------------ the new step


def test_record_of_another_model_is_refused(whole):
    """The weights that do not fit are named, with their shapes."""
    line = line_that_refuses(compare(whole, *new_port(size=5)))
    assert "w (3, 4)" in line and "w (3, 5)" in line and "pairs=" in line


def test_missing_weight_is_named(whole):
    """The record has one more."""
    new = new_port(answer=lambda loss, gradients: (loss, gradients[:1]))
    line = line_that_refuses(compare(whole, new.step, new.variables[:1], new.optimizer))
    assert "the record has v (4, 1)" in line and "pairs=" in line


def test_weight_too_many_is_named(whole):
    """The new program trains one more."""
    new = new_port(answer=lambda loss, gradients: (loss, [*gradients, None]))
    more = [*new.variables, tf.Variable(np.zeros(7, "f4"), name="more")]
    line = line_that_refuses(compare(whole, new.step, more, new.optimizer))
    assert "the new program has more (7,)" in line and "pairs=" in line


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_weight_of_another_type_is_named(dtype, whole):
    """Other digits than the record's: the report says so, whatever the verdict is."""
    new = new_port(dtype=dtype)
    report = compare(whole, *new)
    assert dtype in str(report), str(report)
    assert "Traceback" not in str(report)


def test_weight_of_whole_numbers_is_refused(whole):
    """It could hold no weight of the record."""
    w = tf.Variable(np.zeros((3, 4), "f4"), name="w")
    v = tf.Variable(np.zeros((4, 1), "i4"), name="v")

    def step(x, goal):
        with tf.GradientTape() as tape:
            y = tf.tanh(tf.cast(x, "float32") @ w) @ tf.cast(v, "float32")
            loss = tf.reduce_mean((y - tf.cast(goal, "float32")) ** 2)
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * gradient)
        return loss, [gradient, None]

    line = line_that_refuses(compare(whole, step, [w, v]))
    assert "v" in line and "int32" in line


@pytest.mark.parametrize("given", [0, 1, 3])
def test_count_of_gradients_is_held(given, whole):
    """None at all, too few and too many are told in numbers."""
    new = new_port(answer=lambda loss, gradients: (loss, [*gradients, gradients[0]][:given]))
    line = line_that_refuses(compare(whole, *new))
    assert f"the step returned {given} gradients, and 2 of the variables are trained" in line
    assert "return one for each" in line


def test_gradient_of_another_shape_is_told(whole):
    """Gradients in the wrong order do not fit."""
    report = compare(whole, *new_port(answer=lambda loss, gradients: (loss, gradients[::-1])))
    assert report.status, str(report)
    assert "gradient of w" in str(report)


@pytest.mark.parametrize(
    "answer",
    [lambda loss, gradients: None, lambda loss, gradients: (None, gradients), lambda *_: []],
)
def test_step_that_returns_no_loss_is_refused(answer, whole):
    """A forgotten return."""
    line = line_that_refuses(compare(whole, *new_port(answer=answer)))
    assert "the step returned no loss: return loss, gradients" in line


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("place", ["loss", "gradients"])
def test_new_step_that_alone_is_not_finite_differs(place, bad, whole):
    """It is a difference, which the report names without a warning of NumPy's."""

    def answer(loss, gradients):
        if place == "loss":
            return loss * bad, gradients
        return loss, [gradients[0] * bad, gradients[1]]

    report = compare(whole, *new_port(answer=answer))
    assert report.verdict == "differs", str(report)
    first = {"loss": "the loss of loss", "gradients": "the gradient of w"}[place]
    assert f"First in step 1: {first} " in " ".join(str(report).split())


@pytest.mark.parametrize("graph", [False, True])
def test_step_of_other_inputs_is_refused(graph, whole):
    """The record has two inputs, and the step takes one."""
    new = new_port()

    def step(x):
        return new.step(x, x)

    line = line_that_refuses(
        compare(whole, tf.function(step) if graph else step, new.variables, new.optimizer)
    )
    assert "the step raises TypeError" in line


def test_step_that_fails_is_refused(whole):
    """The error's own first line is part of the line."""

    def answer(loss, gradients):
        raise RuntimeError("no such layer\nand more")

    line = line_that_refuses(compare(whole, *new_port(answer=answer)))
    assert "the step raises RuntimeError: no such layer" in line


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"variables": []}, "no variables are given"),
        ({"variables": [3.0]}, "3.0 is no variable"),
        ({"optimizer": "sgd"}, "'sgd' is no optimizer"),
    ],
)
def test_wrong_argument_is_refused(wrong, says, whole):
    """No variables, no variable, no optimizer."""
    new = NewPort(**{**new_port()._asdict(), **wrong})
    assert says in line_that_refuses(compare(whole, *new))


# ------------------------------------------------------------- what is written


def below_a_file(folder):
    """Return a path whose folder is a file."""
    (folder / "file").write_text("", "utf-8")
    return folder / "file/old.npz"


def instead_of_a_folder(folder):
    """Return the path of a folder that is not empty."""
    (folder / "old.npz/more").mkdir(parents=True)
    return folder / "old.npz"


PLACES = {
    "folder missing": lambda folder: folder / "missing/old.npz",
    "folder is a file": below_a_file,
    "is a folder": instead_of_a_folder,
}


@pytest.fixture(params=PLACES)
def closed_place(request, tmp_path):
    """Return a path that cannot be written, and check afterwards that nothing is left there."""
    path = PLACES[request.param](tmp_path)
    before = sorted(tmp_path.rglob("*"))
    yield path
    assert sorted(tmp_path.rglob("*")) == before


def test_record_that_cannot_be_written_is_refused(closed_place):
    """The line names the file; nothing is left there."""
    line = refusal_of(recorded_port, str(closed_place), record, v1, steps=1)
    assert f"{closed_place} cannot be written" in line


def test_new_record_that_cannot_be_written_is_told(closed_place, whole):
    """A comparison says so."""
    report = compare(whole, *new_port(), save=str(closed_place))
    assert f"{closed_place} cannot be written" in " ".join(str(report).split())


def test_picture_that_cannot_be_written_is_told(closed_place, whole, tmp_path_factory):
    """On the command line, in one line."""
    new = tmp_path_factory.mktemp("new") / "new.npz"
    compare(whole, *new_port(), save=str(new))
    done = run_as_program(whole, new, "--picture", closed_place)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert f"{closed_place} cannot be written" in done.stderr


def test_closed_pipe_is_no_failure(whole):
    """As behind `| head -1`: nothing is said, and the status is that of a closed pipe."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "prover", whole]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_name_that_cannot_be_printed_is_no_failure(whole, tmp_path):
    """A terminal that knows ASCII alone gets an escape for each other letter."""
    path = tmp_path / "größe.npz"
    path.write_bytes(Path(whole).read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "prover", path],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert rb"gr\xf6\xdfe.npz: 3 steps" in done.stdout


@contextlib.contextmanager
def full_disk(size):
    """Let no file grow beyond a size, as on a disk that is full."""
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)


def test_full_disk_keeps_the_record_that_was_there(tmp_path, whole):
    """What was recorded before stays whole, and no half of a file beside it."""
    path = tmp_path / "old.npz"
    path.write_bytes(Path(whole).read_bytes())
    size = path.stat().st_size // 2
    with full_disk(size):
        line = refusal_of(recorded_port, str(path), record, v1)
    assert f"{path} cannot be written: File too large" in line
    assert [one.name for one in tmp_path.iterdir()] == ["old.npz"]
    assert path.read_bytes() == Path(whole).read_bytes()


def test_interrupted_record_leaves_nothing(tmp_path, monkeypatch):
    """Ctrl-C while the file is written."""

    def interrupted(file, **arrays):
        file.write(b"PK")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorded_port(str(tmp_path / "old.npz"), record, v1, steps=1)
    assert not list(tmp_path.iterdir())


def test_record_takes_a_path(tmp_path):
    """A `pathlib.Path` is a path, too."""
    recorded_port(tmp_path / "old.npz", record, v1, steps=1)
    assert compare(tmp_path / "old.npz", *new_port(), save=tmp_path / "new.npz").status == 0


# ------------------------------------------------------------ what records


def test_record_of_no_step_is_refused(tmp_path):
    """Nothing would be compared."""
    line = refusal_of(recorded_port, str(tmp_path / "old.npz"), record, v1, steps=0)
    assert "steps is 0: record at least one" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [0, 1])
def test_recorded_step_returns_every_gradient(given, tmp_path):
    """As in a comparison, with nothing written."""
    new = new_port(answer=lambda loss, gradients: (loss, gradients[:given]))
    inputs = np.ones((8, 3), "f4"), np.ones((8, 1), "f4")
    path = str(tmp_path / "old.npz")
    line = refusal_of(record_step, path, new.step, new.variables, inputs, new.optimizer)
    assert f"the step returned {given} gradients" in line
    assert not list(tmp_path.iterdir())


def test_uninitialized_variable_is_named(tmp_path):
    """The line says what to run."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2], "x")
        w = v1.get_variable("w", initializer=np.ones(2, "f4"))
        loss = tf.reduce_sum(w * x)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        path = str(tmp_path / "old.npz")
        line = refusal_of(record, path, session, loss, {x: [1.0, 2.0]}, train)
    assert "w" in line and "global_variables_initializer" in line


@pytest.mark.parametrize("kind", ["MonitoredSession", "SingularMonitoredSession"])
def test_hooks_of_a_monitored_session_do_not_run(kind, tmp_path):
    """They would stop it after a step, save it, and count."""
    path = tmp_path / "old.npz"
    with tf.Graph().as_default():
        count = v1.train.get_or_create_global_step()
        w = v1.get_variable("w", initializer=[1.0, 2.0])
        loss = tf.reduce_sum(w**2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, count)
        hooks = [v1.train.StopAtStepHook(last_step=1)]
        with getattr(v1.train, kind)(hooks=hooks) as session:
            record(path, session, loss, {}, train, steps=3)
            assert not session.should_stop()
    assert path.exists()


@pytest.mark.parametrize("fed", [{}, {"x": [1.0, 2.0, 3.0]}])
def test_wrong_feed_is_told(fed, tmp_path):
    """An input that is left out, or has another shape."""
    with tf.Graph().as_default(), v1.Session() as session:
        places = {name: v1.placeholder(tf.float32, [2], name) for name in ("x", "y")}
        w = v1.get_variable("w", initializer=np.ones(2, "f4"))
        loss = tf.reduce_sum(w * places["x"] * places["y"])
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        feed = {places[name]: value for name, value in {"y": [1.0, 2.0], **fed}.items()}
        line = refusal_of(record, str(tmp_path / "old.npz"), session, loss, feed, train)
    assert "x" in line
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------ what a step returns


def test_step_that_returns_the_loss_alone_proves_no_gradient(whole):
    """The report says so, and does not count them."""
    full = compare(whole, *new_port())
    report = compare(whole, *new_port(answer=lambda loss, gradients: loss))
    assert report.verdict == full.verdict == "the same"
    assert "returned no gradients: they are not compared" in " ".join(str(report).split())
    assert report.numbers < full.numbers and report.largest < 1e-3


def test_other_number_of_losses_is_refused(whole):
    """The record has one, and the step returns two."""
    answer = {"one": 1.0, "two": 2.0}
    line = line_that_refuses(compare(whole, *new_port(answer=lambda _, g: (answer, g))))
    assert "the step returned 2 losses, and the record has loss" in line


def test_pairs_of_gradients_and_variables_are_refused(whole):
    """As `apply_gradients` takes them."""
    pairs = new_port(answer=lambda loss, gradients: (loss, [(one, one) for one in gradients]))
    assert "returned pairs" in line_that_refuses(compare(whole, *pairs))
