"""What an example is, and which there are; nothing else takes one apart.

An example is a Markdown file below snippets/ with a python fence and, under it, an output fence.
Pages embed it by its name, such as `parameters/grad_ys/tape.md`. The README holds one, too.
"""

import ast
import hashlib
import re
from typing import NamedTuple

from checks import ROOT, SNIPPETS, relative
from checks.compare import TOKEN, digits

FENCES = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n+^```output\n(?P<output>.*?)^```$)?",
    re.M | re.S,
)
# What one of these sets stays set for the examples after it, or comes too late after others.
SETTING = re.compile(
    r"TF_USE_LEGACY_KERAS|^execute\.|^warnings\.|^os\.environ\[|^step = tf\.train\.get_or_create"
    r"|^def map_with_a_mistake|^with tf\.Session|\.(?:addFilter|addHandler|enable_check_numerics"
    r"|enable_op_determinism|disable_(?:eager_execution|control_flow_v2|v2_\w+)|MultiWorkerMirroredStrategy|RegisterGradient|no_gradient|setLevel"
    r"|set_(?:experimental_options|floatx|global_policy|logical_device_configuration|seed|\w+_threads))\(",
    re.M,
)
# An output that hangs on what the process has made or imported so far.
COUNTED = re.compile(r"\b(?:pyfunc|adam)_\d|path=sgd/|module 'keras\.optimizers'")
LABEL = re.compile(r"(?!\b(?:None|True|False|nan|inf)\b)\b[^\W\d_]{2,}|\S:( |$)")


class MisshapenError(Exception):
    """A file is no example; the message says what is wrong and how to mend it."""


class Snippet(NamedTuple):
    """An example: the name by which pages embed it, its code and what it prints."""

    name: str
    code: str
    output: str

    @property
    def old(self):
        """Whether only TensorFlow 1 runs it."""
        return self.name.endswith(".tf1.md")

    @property
    def kills(self):
        """Whether it ends its process, or must be ended."""
        return self.name.split("/")[-1].startswith(("kills_process", "hangs_"))

    @property
    def alone(self):
        """Whether it needs a process of its own."""
        return (
            self.old or self.kills or bool(SETTING.search(self.code) or COUNTED.search(self.output))
        )

    @property
    def graph(self):
        """Whether it is written for the graphs of TensorFlow 1."""
        return self.old or "import tensorflow.compat.v1 as tf" in self.code

    @property
    def title(self):
        """What readers see of its name."""
        return self.name.split("/")[-1].split(".")[0].replace("_", " ")

    @property
    def digest(self):
        """The hash that ties a result to code and output; layout and comments do not count."""
        code = ast.unparse(ast.parse(self.code)).replace("'", '"')
        said = code + " ".join(self.output.split())
        return hashlib.sha256(said.encode()).hexdigest()[:12]


def read(path, *, output=True):
    """Return the example in the file at `path`.

    Raises:
        MisshapenError: The file is no example, or lacks its `output`.
    """
    text, name = path.read_text("utf-8").rstrip(), relative(path)
    whole = path.is_relative_to(SNIPPETS)
    fences = FENCES.fullmatch(text) if whole else FENCES.search(text)
    if not fences or text.count("```python") > 1:
        raise MisshapenError(
            f"{name}: write one plain ```python fence at the margin, its ```output fence under it, "
            "and the rest on the page that embeds it."
        )
    if output and not fences["output"]:
        raise MisshapenError(
            f"{name} has no output; write it with: "
            f"python3 noxfile.py -s snippets -- --update {name}"
        )
    return Snippet(name.removeprefix("snippets/"), fences["code"], fences["output"] or "")


def unlabelled(output):
    """Return the lines of an output that do not say what they are; a matrix has one label."""
    lines, wrong, still_open = output.splitlines(), [], 0
    for above, line in zip(["", *lines], lines, strict=False):
        if not (still_open or LABEL.search(line) or above.endswith(":") or len(lines) == 1):
            wrong.append(line)
        still_open += sum(map(line.count, "[({")) - sum(map(line.count, "])}"))
    return wrong


def unreadable(snippet, name):
    """Yield why the output of an example is not labelled, rounded, and without this machine."""
    if wrong := unlabelled(snippet.output):
        yield f"{name} prints lines that do not say what they are: {wrong}"
    if str(ROOT) in snippet.output:
        yield f"{name}: prints a path of this machine"
    if "np." in snippet.output:
        yield f"{name}: NumPy 1 prints this otherwise; print the values"
    # A case runs in float64, so that old and new agree in six.
    most = 6 if snippet.name.startswith("cases/") else 5
    for number in TOKEN.finditer(snippet.output):
        if len(digits(number["float"] or "")) > most:
            yield f"{name}: round {number[0]}; print at most {most} digits"
        if 0 < abs(float(number["float"] or 0)) < 1e-7:
            yield f"{name}: {number[0]} is noise"


def write(path, output):
    """Put `output` under the code of the example at `path`."""
    text = path.read_text("utf-8")
    fences = FENCES.search(text)
    block = f"```\n\n```output\n{output.rstrip()}\n```"
    path.write_text(text[: fences.end("code")] + block + text[fences.end() :], "utf-8")


def files():
    """Return the files of all examples, in the order of their names."""
    return sorted(SNIPPETS.rglob("*.md"))


def load_examples():
    """Return all examples, with the hash by which results know them: {name: Snippet}."""
    return {snippet.name: snippet for snippet in map(read, files())}
