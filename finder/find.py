"""Find: all findings in one text, from the first to the last."""

from .calls import all_asked
from .context import Code
from .findings import finding_of
from .notebooks import in_cell, notebook_lines
from .rules import triggers
from .words import findings_by_words


def findings_in_code(text, path):
    """Return the findings in Python code, in the order of their lines."""
    code, found = Code(text, path), {}
    for asked in all_asked(code):
        one = finding_of(code, asked)
        found.setdefault((one.line, one.column, one.rule), one)
    everything = [*found.values(), *findings_by_words(code)]
    return sorted(everything, key=lambda one: (one.line, one.column))


def findings(text, path=""):
    """Return the findings in the text of a file, in the order of their lines.

    Raises:
        ValueError: The text is that of a notebook that is none.
    """
    if not triggers(text):
        return []
    if not path.endswith(".ipynb"):
        return findings_in_code(text, path)
    try:
        lines = notebook_lines(text)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a notebook: {error!r}") from None
    code = "\n".join(line.code for line in lines) + "\n"
    return [in_cell(one, lines) for one in findings_in_code(code, path)]


def find(text, path=""):
    """Return the findings in the text of a file as dictionaries, as `--format json` prints them.

    Raises:
        ValueError: The text is that of a notebook that is none.
    """
    return [one.as_json() for one in findings(text, path)]
