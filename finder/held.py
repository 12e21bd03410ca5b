"""The mapping as it is held: one file."""

import json
from pathlib import Path


def joined():
    """Return what became of each old name and argument, as a dictionary."""
    return json.loads(Path(__file__).with_name("rules.json").read_text("utf-8"))
