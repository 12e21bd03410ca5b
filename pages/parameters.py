"""The nine parameters of tf.gradients: as TensorFlow prints them, and as their rows tell."""

import re
from typing import NamedTuple

from checks import DOCS, SNIPPETS
from checks.snippets import read
from pages.calls import calls
from pages.page import Page

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


def name_on_tape(row, names):
    """Return which of the tape's `names` a row says to write, if the parameter is still there."""
    kept = row.verdict in ("same", "renamed")
    return next((name for name in names if kept and re.search(rf"\b{name}\b", row.write)), None)


def nine_parameters():
    """Return the parameters in their order.

    Raises:
        ValueError: The table does not have the parameters that TensorFlow prints.
    """
    printed = signatures("parameters/index/signatures.md")
    old = printed["tf.compat.v1.gradients"]
    [on_tape] = signatures("tape/gradient/signature.md").values()
    rows = [row for row in calls(Page.read(DOCS / PAGE)) if row.of == OF]
    if [row.old for row in rows] != [f"`{name}`" for name in old]:
        raise ValueError(
            f"docs/{PAGE}: the table of {OF} needs one row for each of {', '.join(old)}, in this "
            "order, which is that of snippets/parameters/index/signatures.md"
        )
    return [
        Parameter(
            parameter=name,
            default=default,
            in_tf2=name in printed["tf.gradients"],
            verdict=row.verdict,
            new=name_on_tape(row, on_tape),
            tape=row.write,
            says=row.cells["in short"],
            page=row.settled,
        )
        for (name, default), row in zip(old.items(), rows, strict=True)
    ]
