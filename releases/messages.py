"""Which releases print the message of an example, and what others print instead."""

import re

from checks import SNIPPETS
from checks.snippets import read

# Calls on the way to an error, as in a traceback, and advice on what TensorFlow itself calls.
BESIDES = re.compile(
    r"^(?:>>>| {4}(?! *\w+Error: )).*\n"
    r"|^From .* is deprecated .*\nInstructions for updating:\n.*$",
    re.M,
)
# What the example uses and the release lacks says nothing about the message.
LACKS = re.compile(r"ModuleNotFoundError|ImportError|AttributeError: (?:partially )?module ")


def forms(name, outcomes, releases):
    """Return on which of `releases` the example `name` prints what it shows, and what others print.

    The others come as {text: [release]}, without those that lack what the example uses.
    """
    example = read(SNIPPETS / name)
    expected, same, others = example.output.splitlines(), [], {}
    for release in releases:
        kind, text = outcomes.get((name, release), (None, ""))
        lines = BESIDES.sub("", text).splitlines()
        new = "\n".join(line for line in lines if line.strip() and line not in expected)
        # In TensorFlow 1, what is not written for its graphs may end for a reason of its own.
        ended = kind == "not available" and release.startswith("1.") and not example.graph
        if kind == "same":
            same.append(release)
        elif new and not ended and not LACKS.match(new):
            others.setdefault(new, []).append(release)
    return same, others
