"""The differences that the site explains, each with the address of the section that does.

`known.json` lists them: under `where`, what a difference must have, in patterns of which one must
fit. The order counts: a difference has the first name that fits it. Without an address, it was
found here and no page explains it yet.
"""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple


class Known(NamedTuple):
    """A difference that is explained: its name, where, and what it must have."""

    name: str
    address: str
    where: dict

    def explains(self, difference):
        """Return whether a difference is this one."""
        program = difference.program
        has = {
            "question": [difference.question],
            "way": [difference.way],
            "kind": [difference.kind],
            "operations": program.names,
            "target": [program.values[program.target].kind],
            "asked": ["no" if program.asked is None else "yes"],
            "says": [difference.graph.error, difference.other.error],
        }
        return all(
            any(fnmatchcase(one, pattern) for one in has[key] for pattern in patterns)
            for key, patterns in self.where.items()
        )


KNOWN = [Known(**row) for row in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))]


def names_of(difference):
    """Return the names of the known differences that this one may be, the first one best."""
    return [one.name for one in KNOWN if one.explains(difference)]
