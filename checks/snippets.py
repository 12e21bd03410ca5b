"""What an example is, and which there are; nothing else takes one apart.

An example is a Markdown file below snippets/ with a python fence and, under it, an output fence.
Pages embed it by its name, such as `parameters/grad_ys/tape.md`. The README holds one, too.
"""

import ast
import hashlib
import re
from typing import NamedTuple

from checks import SNIPPETS, relative

FENCES = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n+^```output\n(?P<output>.*?)^```$)?",
    re.M | re.S,
)


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


def write(path, output):
    """Put `output` under the code of the example at `path`."""
    text = path.read_text("utf-8")
    fences = FENCES.search(text)
    block = f"```\n\n```output\n{output.rstrip()}\n```"
    path.write_text(text[: fences.end("code")] + block + text[fences.end() :], "utf-8")


def files():
    """Return the files of all examples, in the order of their names."""
    return sorted(SNIPPETS.rglob("*.md"))


def load():
    """Return all examples, with the hash by which results know them: {name: Snippet}."""
    return {snippet.name: snippet for snippet in map(read, files())}
