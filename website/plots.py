"""Draw what examples print.

`<!-- plot task/graph.md task/tape.md -->` has a curve for each printed line of five numbers and
more, such as `loss: 2.1 1.7 …`, over the line `x:`, `t:` or `step:`, or `over` the one named so:
`<!-- plot over time …`. The first example is drawn broad, the next one thin, so both are seen.
`<!-- heat task/map.md -->` has a cell for each number in the longest lines of an example.
"""

import html
import io
import re
from pathlib import Path

from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

NUMBER = r"[-+]?[\d.]+(?:e[-+]?\d+)?"
ROW = re.compile(rf"^(?:(?P<label>[^:\n]*):)? *(?P<numbers>{NUMBER}(?: +{NUMBER})+) *$", re.M)
ACROSS = "x", "t", "step", "steps"
SIDES = {"graph": "TF 1 graph", "tape": "TF 2 tape"}
# The colours of plots.mplstyle stand for those of the page, which are other ones in the dark.
INK = "#010101"
CURVES = {"#010102": "var(--curve-1)", "#010103": "var(--curve-2)", "#010104": "var(--curve-3)"}
# A style would hold for the whole page, as names would; the page knows its font and the size.
UNUSED = re.compile(
    r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>|font-family: [^;]*;"
    r'| id="[A-Za-z2_.]+_\d+"| (?:width|height)="[\d.]+pt"',
    re.S,
)


def printed_rows(output, least):
    """Return the label and the numbers of each printed line that has at least so many."""
    rows = [(row["label"], row["numbers"].split()) for row in ROW.finditer(output)]
    return [(label, [*map(float, numbers)]) for label, numbers in rows if len(numbers) >= least]


def lines_to_draw(name, output, across):
    """Return the label and the numbers of each line to draw, and those of the line below them.

    Raises:
        ValueError: There is nothing to draw, or no line called `across`.
    """
    found = {label.strip(): row for label, row in printed_rows(output, 5) if label is not None}
    below = across or next((label for label in found if label in ACROSS), None)
    if below and below not in found:
        raise ValueError(f"{name} prints no line of five numbers or more called {below}")
    x = found.pop(below, None) or range(len(next(iter(found.values()), [])))
    drawn = {label: y for label, y in found.items() if len(y) == len(x) and label not in ACROSS}
    if not drawn:
        raise ValueError(f"{name} prints no line of five numbers or more to draw")
    return drawn, below, x


def side(name, sides=SIDES):
    """Return what readers see of an example's name."""
    stem = Path(name).stem
    return sides.get(stem, stem.replace("_", " "))


def curves(figure, outputs, across=None):
    """Draw the printed lines of all examples, and return what that shows in words."""
    axes, labels, sides = figure.subplots(), {}, {}
    for place, (name, output) in enumerate(outputs.items()):
        drawn, below, x = lines_to_draw(name, output, across)
        thin = place or len(outputs) == 1
        width = {"linewidth": 2.5} if thin else {"linewidth": 9, "alpha": 0.35}
        sides[side(name)] = Line2D([], [], color=INK, **width)
        for number, (label, y) in enumerate(drawn.items()):
            axes.plot(x, y, color=f"C{number}", **width)
            labels[label] = Line2D([], [], color=f"C{number}", linewidth=6)
        axes.set_xlabel(below or "")
    handles = labels | (sides if len(outputs) > 1 else {})
    axes.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(1, 1))
    drawn = f", {' broad and '.join(sides)} thin" if len(sides) > 1 else ""
    return f"The printed lines {', '.join(labels)} over {below or 'their place'}{drawn}."


def cells(figure, outputs):
    """Draw a cell for each printed number, and return what that shows and its scale in words.

    Raises:
        ValueError: An example prints no block of rows.
    """
    grid, scales, tallest = figure.subplots(1, len(outputs), squeeze=False)[0], [], 0
    for (name, output), axes in zip(outputs.items(), grid, strict=True):
        rows = [row for _, row in printed_rows(output, 3)]
        rows = [row for row in rows if len(row) == max(map(len, rows))]
        if len(rows) < 3:
            raise ValueError(f"{name} prints no three rows of equally many numbers")
        tallest = max(tallest, len(rows) / len(rows[0]))
        axes.pcolormesh(rows, cmap="viridis", edgecolors="face")
        axes.invert_yaxis()
        axes.set(aspect="equal", title=side(name, {}))
        axes.set_axis_off()
        scales.append(f"{side(name, {})} from {min(map(min, rows)):g} to {max(map(max, rows)):g}")
    figure.set_figheight((640 * tallest / len(outputs) + 44) / 72)  # 44: the titles; no gap is left
    return f"The printed numbers as cells, from dark to light: {', '.join(scales)}."


DRAW = {"plot": (curves, 340), "heat": (cells, 300)}


def picture(kind, page, site, *names):
    """Return an SVG in the colours of the page.

    Raises:
        KeyError: An example is missing.
        ValueError: An example does not print what can be drawn.
    """
    names, options = list(names), {}
    if names[0] == "over":
        _, options["across"], *names = names
    outputs = {name: site.examples[name].output for name in names}
    draw, height = DRAW[kind]
    # The same names at each build, and other ones in each picture of a page.
    salt = {"svg.hashsalt": f"{kind} {names} {options}"}
    with style.context(["website.templates.plots", salt]):
        figure, file = Figure(figsize=(640 / 72, height / 72)), io.StringIO()
        says = draw(figure, outputs, **options)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = UNUSED.sub("", file.getvalue()[file.getvalue().index("<svg") :])
    hidden = {"<svg ": '<svg aria-hidden="true" '}  # whose caption says what it shows
    for colour, shown in {INK: "currentColor", **CURVES, **hidden}.items():
        svg = svg.replace(colour, shown)
    drawn = f"{' '.join(svg.split())}<figcaption>{html.escape(says)}</figcaption>"
    # Its words are those of the outputs, which the search has.
    return f"<figure data-search-exclude>{drawn}</figure>"
