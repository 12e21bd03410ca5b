"""What a record holds, and the file that keeps it: NumPy's .npz, without pickle."""

import contextlib
import json
import os
import zipfile
from collections import namedtuple

from .arrays import np

FORMAT = 1
EMPTY = "Graph execution error", "Detected at node", "File ", "Node: "  # what TensorFlow says first
UNITS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
UNITS["half"] = UNITS["float16"]


class NotComparable(ValueError):
    """The two sides cannot be compared; the message says why, and what mends it."""


class Weight(namedtuple("Weight", "name shape dtype trainable")):
    """A variable of the old program: its name, shape, data type, and whether it is trained."""


IN_STEP = "inputs losses early gradients applied terms direct summands worth rows before after "
IN_STEP += "state examples"


class Step(namedtuple("Step", IN_STEP, defaults=((),))):
    """One training step.

    Attributes:
        inputs: The arrays that the step was given.
        losses: The value of each loss before the operation that trains by it, by name.
        early: Of each loss, the value before the first such operation if it is another, or None.
        gradients: For each trained weight an array, or None.
        applied: For each trained weight what reached the optimizer (clipped, say), or None.
        terms: Of several losses, or where the program changes gradients, those of each loss, one
            list after the other.
        direct: Of a loss that is computed from a gradient, the gradients with that one held
            constant, for each loss as in `terms`.
        summands: Of one loss that is a sum, the gradients of each summand, as in `terms`.
        worth: What each summand adds to that loss.
        rows: For each trained weight the indices of its IndexedSlices, or None.
        before: Each trained weight before the step.
        after: Each trained weight after it.
        state: Each other variable after it: averages, counters.
        examples: Of the first step, the places of some elements of all gradients; what each
            example adds to these; what to the loss; and to which summand, or would, for -1.
    """


class Record(namedtuple("Record", "about weights start steps noise")):
    """What a program computed.

    Attributes:
        about: A dictionary: versions, steps, lowest precision, names of inputs, what is random.
        weights: A `Weight` for each variable, trained ones first.
        start: The value of each, before the first step.
        steps: A `Step` for each training step.
        noise: For "loss", "gradient", "step" and "state" an array of relative differences, a row
            for each step, that rounding alone makes: measured with weights and inputs moved by
            one unit in the last place. "twice" in front: by which a second run differs.
    """

    @property
    def trained(self):
        """The weights that are trained."""
        return [one for one in self.weights if one.trainable]

    @property
    def others(self):
        """The variables that are not."""
        return [one for one in self.weights if not one.trainable]


def nudged(weights, step):
    """Return weights moved by up to a tenth, so that each step has a gradient of its own.

    Args:
        weights: Arrays of any shape; the first step's are left as they are.
        step: The number of the step, from zero, which is the seed.
    """
    if not step:
        return list(weights)
    random = np.random.RandomState(step)
    return [
        np.asarray(one * (1 + random.uniform(-0.1, 0.1, np.shape(one)))).astype(one.dtype)
        if one.dtype.kind in "fcV"
        else one
        for one in weights
    ]


def save_record(path, record):
    """Write a record, whole or not at all.

    Raises:
        NotComparable: The path cannot be written.
    """
    arrays = {f"start/{k}": value for k, value in enumerate(record.start)}
    for name, value in record.noise.items():
        arrays["noise/" + name] = value
    for t, step in enumerate(record.steps):
        for part, values in step._replace(losses=list(step.losses.values()))._asdict().items():
            if part == "before":  # it follows from what was after the step before it
                continue
            for k, value in enumerate(values):
                if value is not None:
                    arrays[f"{part}/{t}/{k}"] = value
    about = dict(record.about, weights=[list(one) for one in record.weights])
    about.update(format=FORMAT, losses=list(record.steps[0].losses), parts=sorted(arrays))
    arrays["about"] = np.array(json.dumps(about))
    exact = {name: as_stored(value) for name, value in arrays.items()}
    with written_whole(path) as part, open(part, "wb") as file:
        np.savez(file, **exact)


def first_line(error):
    """Return an error's type, and the first line that it says."""
    lines = [line.strip() for line in str(error).split("\n")]
    said = [line for line in lines if line and not line.startswith(EMPTY)]
    kind = f"{type(error).__name__}: "
    if said[:1] == ["in user code:"]:  # AutoGraph's, which says the reason below the stack
        said = [line[len(kind) :] for line in said if line.startswith(kind)] or said[-1:]
    return f"{kind}{said[0][:200] if said else ''}"


@contextlib.contextmanager
def written_whole(path):
    """Give a path to write to, that becomes `path` where that went well, and else goes.

    Raises:
        NotComparable: The path cannot be written.
    """
    part = os.fspath(path) + ".part"
    try:
        yield part
        os.replace(part, path)
    except OSError as error:
        raise NotComparable(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if os.path.exists(part):
            os.remove(part)


def as_stored(value):
    """Return an array of a type that every NumPy reads."""
    value = np.asarray(value)
    return value.astype("float32") if value.dtype.kind == "V" else value  # bfloat16


def load_record(path):
    """Read a record.

    Raises:
        NotComparable: There is none, it is cut, or it is no record.
    """
    try:
        with open(path, "rb") as opened, zipfile.ZipFile(opened) as file:
            arrays = {
                name[:-4]: np.lib.format.read_array(file.open(name), allow_pickle=False)
                for name in file.namelist()
            }
        about = dict(json.loads(str(arrays.pop("about"))))
        if set(about.get("parts", ())) - set(arrays):
            raise ValueError
    except FileNotFoundError:
        raise NotComparable(
            f"{path} does not exist: write it with prove_gradients.record in the old program"
        ) from None
    except Exception:  # a damaged file fails in as many ways as it has bytes
        raise NotComparable(
            f"{path} is no record, or a part of it is missing: record it again"
        ) from None
    if about.get("format") != FORMAT:
        raise NotComparable(
            f"{path} has format {about.get('format')} and this file reads {FORMAT}: take one "
            "prove_gradients.py for both sides"
        )
    weights = [Weight(n, tuple(shape), kind, train) for n, shape, kind, train in about["weights"]]
    trained, others = (sum(one.trainable is yes for one in weights) for yes in (True, False))
    start = [arrays[f"start/{k}"] for k in range(len(weights))]
    steps, before = [], start[:trained]
    for t in range(about["steps"]):

        def part(name, number, t=t):
            return [arrays.get(f"{name}/{t}/{k}") for k in range(number)]

        losses = dict(zip(about["losses"], part("losses", len(about["losses"]))))
        step = Step(
            part("inputs", len(about["inputs"])),
            losses,
            part("early", len(losses)),
            part("gradients", trained),
            part("applied", trained),
            part("terms", trained * len(losses) if len(losses) > 1 or about["changed"] else 0),
            part("direct", trained * len(losses) if about["through_gradient"] else 0),
            part("summands", trained * len(about.get("summands", ()))),
            part("worth", len(about.get("summands", ()))),
            part("rows", trained),
            nudged(before, t),
            part("after", trained),
            part("state", others),
            part("examples", 4) if f"examples/{t}/0" in arrays else (),
        )
        steps.append(step)
        before = step.after
    noise = {name[6:]: value for name, value in arrays.items() if name.startswith("noise/")}
    return Record(about, weights, start, steps, noise)
