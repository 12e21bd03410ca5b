"""Write verdicts: a chip, the tables and the legend that show them, and what became of a name.

`nine` are the parameters of tf.gradients, and `link` gives the address of a page below docs/.
"""

import re

from pages.calls import VERDICTS, verdict_tables
from pages.page import Page


def verdict_chip(verdict, word=""):
    """Return a verdict as HTML, or another word for it."""
    return f'<span class="verdict {verdict}">{word or verdict}</span>'


def with_verdict_chips(text, uri):
    """Return the Markdown of the page `uri` with a chip in place of each verdict in a table."""
    lines = text.split("\n")
    for row in (row for table in verdict_tables(Page.parse(text, uri)) for row in table.rows):
        cell, chip = rf"\| *{row.cells[1]} *\|", f"| {verdict_chip(row.cells[1])} |"
        lines[row.line - 1] = re.sub(cell, chip, lines[row.line - 1], count=1)
    return "\n".join(lines)


def verdict_legend():
    """Return what the verdicts mean, as a list."""
    return "\n".join(
        f"- **{verdict_chip(verdict)}**: {means}." for verdict, means in VERDICTS.items()
    )


def parameter_table(nine, link, column, text_of):
    """Return a table of the parameters with one more column, of what `text_of` says of each."""
    lines = [f"| parameter | verdict | {column} |", "|---|---|---|"]
    for one in nine:
        name = f"[`{one.parameter}`]({link(one.page)})"
        lines.append(f"| {name} | {one.verdict} | {text_of(one)} |")
    return "\n".join(lines)


def parameters_in_short(nine, link):
    """Return the table of the parameters that says of each what became of it."""
    return parameter_table(nine, link, "in short", lambda one: one.says)


def parameters_with_a_tape(nine, link):
    """Return the table of the parameters that says what to write for each."""
    return parameter_table(nine, link, "with a tape", lambda one: one.tape)


def parameter_chip(nine, name, words):
    """Return the chip of a parameter, or of a verdict itself, in the words that a page has.

    Raises:
        KeyError: There is neither, or the page has words but none for it.
    """
    found = {word: word for word in (*VERDICTS, "trap")} | {
        one.parameter: one.verdict for one in nine
    }
    return verdict_chip(found[name], words[found[name]] if words else "")


def became(nine, page):
    """Return the verdict of the parameters that `page` is about as the first word there.

    Raises:
        KeyError: It is about none, or their verdicts differ.
    """
    found = {one.verdict for one in nine if one.page == page}
    if len(found) != 1:
        raise KeyError("became")
    return f"**{found.pop().capitalize()}.**"
