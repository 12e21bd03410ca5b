"""The nine parameters of tf.gradients: as TensorFlow prints them, and as their rows tell."""

import re
from typing import NamedTuple

from checks import SNIPPETS
from checks.snippets import read
from pages.calls import calls_by_key

PAGE, OF = "parameters/index.md", "`tf.gradients`"
SIGNATURE = re.compile(r"^(?P<function>[\w.]+)\(\n(?: .+\n)+\)", re.M)
PARAMETER = re.compile(r"^ +(?P<name>\w+)(?:=(?P<default>.+))?,$", re.M)


class Parameter(NamedTuple):
    """What parameters.json says of a parameter; `new` is its name on the tape, if it has one."""

    parameter: str
    default: str | None
    in_tf2: bool
    verdict: str
    new: str | None
    tape: str
    says: str
    page: str


def signatures(name):
    """Return the signatures that an example prints: {function: {parameter: its default}}."""
    return {
        found["function"]: {p["name"]: p["default"] for p in PARAMETER.finditer(found[0])}
        for found in SIGNATURE.finditer(read(SNIPPETS / name).output)
    }


def nine_parameters():
    """Return the parameters in their order.

    Raises:
        ValueError: The table does not have the parameters that TensorFlow prints.
    """
    printed = signatures("parameters/index/signatures.md")
    old = printed["tf.compat.v1.gradients"]
    [on_tape] = signatures("tape/gradient/signature.md").values()
    rows = [row for row in calls_by_key().values() if row.of == OF]
    if [row.old for row in rows] != [f"`{name}`" for name in old]:
        raise ValueError(
            f"docs/{PAGE}: the table of {OF} needs one row for each of {', '.join(old)}, in this "
            "order, which is that of snippets/parameters/index/signatures.md"
        )
    found = []
    for (name, default), row in zip(old.items(), rows, strict=True):
        in_tf2, kept = name in printed["tf.gradients"], row.verdict in ("same", "renamed")
        new = next((n for n in on_tape if kept and re.search(rf"\b{n}\b", row.write)), None)
        told = row.write, row.cells["in short"], row.settled
        found.append(Parameter(name, default, in_tf2, row.verdict, new, *told))
    return found
