"""Draw what examples print.

`<!-- plot task/graph.md task/tape.md -->` has a curve for each printed line of five numbers and
more, such as `loss: 2.1 1.7 …`, over the line `x:`, `t:` or `step:`, or `over` the one named so:
`<!-- plot over time …`. The first example is drawn broad, the next one thin, so both are seen.
`<!-- heat task/map.md -->` has a cell for each number in the longest lines of an example.
"""

import html
import io
import itertools
import re

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from mkdocs.exceptions import PluginError

from checks import SNIPPETS, snippets

MARKER = re.compile(
    r"^<!-- (?P<kind>plot|heat)(?: over (?P<across>\w+))? (?P<names>\S+(?: \S+)*) -->$", re.M
)
LINE = re.compile(r"^(?P<label>[^:\n]*):(?P<numbers>(?: +[-+]?[\d.]+(?:e[-+]?\d+)?){5,}) *$", re.M)
ROW = re.compile(r"^(?:[^:\n]*:)?(?P<numbers>(?: *[-+]?[\d.]+(?:e[-+]?\d+)?){3,}) *$", re.M)
ACROSS = "x", "t", "step", "steps"
SIDES = {"graph": "TF 1 graph", "tape": "TF 2 tape"}
INK = "#010101"  # stands for the colour of the text, which is another one in the dark
SHADES = ("#010102", "var(--curve-1)"), ("#010103", "var(--curve-2)"), ("#010104", "var(--curve-3)")
# A style would hold for the whole page, as names would; the page knows its font and the size.
UNUSED = re.compile(
    r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>|font-family: [^;]*;"
    r'| id="[A-Za-z2_.]+_\d+"| (?:width|height)="[\d.]+pt"',
    re.S,
)
STYLE = {
    "svg.fonttype": "none",
    "font.size": 22,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "xtick.major.pad": 14,  # or the first numbers of both axes touch
    "ytick.major.pad": 8,
    "figure.constrained_layout.h_pad": 0.1,
    "legend.frameon": False,
} | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK)
STYLE |= dict.fromkeys(("xtick.color", "ytick.color"), INK)


def numbers(text):
    """Return the numbers in a line of output."""
    return [float(number) for number in text.split()]


def curves(name, output, across):
    """Return the label and the numbers of each line to draw, and those of the line below them.

    Raises:
        ValueError: There is nothing to draw, or no line called `across`.
    """
    found = {line["label"].strip(): numbers(line["numbers"]) for line in LINE.finditer(output)}
    below = across or next((label for label in found if label in ACROSS), None)
    if below and below not in found:
        raise ValueError(f"{name} prints no line of five numbers or more called {below}")
    x = found.pop(below, None) or range(len(next(iter(found.values()), [])))
    drawn = {label: y for label, y in found.items() if len(y) == len(x) and label not in ACROSS}
    if not drawn:
        raise ValueError(f"{name} prints no line of five numbers or more to draw")
    return drawn, below, x


def plot(names, outputs, across=None):
    """Return a figure with the printed lines of all examples, and what it shows in words."""
    figure = Figure(figsize=(640 / 72, 340 / 72), layout="constrained")
    axes, labels, sides = figure.subplots(), {}, {}
    for name, output in zip(names, outputs, strict=True):
        drawn, below, x = curves(name, output, across)
        broad = len(names) > 1 and name == names[0]
        width = {"linewidth": 9, "alpha": 0.35} if broad else {"linewidth": 2.5}
        stem = name.split("/")[-1].removesuffix(".md")
        sides[SIDES.get(stem, stem.replace("_", " "))] = Line2D([], [], color=INK, **width)
        for (shade, _), (label, y) in zip(itertools.cycle(SHADES), drawn.items(), strict=False):
            axes.plot(x, y, color=shade, **width)
            labels[label] = Line2D([], [], color=shade, linewidth=6)
        axes.set_xlabel(below or "")
    handles = labels | (sides if len(names) > 1 else {})
    axes.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(1, 1))
    return figure, f"Curves of the printed lines {', '.join(labels)}"


def heat(names, outputs):
    """Return a figure with a cell for each printed number, and what it shows in words.

    Raises:
        ValueError: An example prints no block of rows.
    """
    figure = Figure(figsize=(640 / 72, 300 / 72), layout="constrained")
    for name, output, axes in zip(
        names, outputs, figure.subplots(1, len(names), squeeze=False)[0], strict=True
    ):
        rows = [numbers(row["numbers"]) for row in ROW.finditer(output)]
        rows = [row for row in rows if len(row) == max(map(len, rows))]
        if len(rows) < 3:
            raise ValueError(f"{name} prints no three rows of equally many numbers")
        axes.pcolormesh(rows, cmap="viridis", edgecolors="face")
        axes.invert_yaxis()
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set_title(name.split("/")[-1].removesuffix(".md").replace("_", " "))
    titles = ", ".join(axes.get_title() for axes in figure.axes)
    return figure, f"The printed numbers as cells, the larger the lighter: {titles}"


def picture(kind, names, **options):
    """Return an SVG in the colours of the page.

    Raises:
        ValueError: An example does not print what can be drawn.
    """
    outputs = [snippets.read(SNIPPETS / name).output for name in names]
    # The same names at each build, and other ones in each picture of a page.
    with mpl.rc_context(STYLE | {"svg.hashsalt": f"{kind} {names} {options}"}):
        figure, says = {"plot": plot, "heat": heat}[kind](names, outputs, **options)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = UNUSED.sub("", svg[svg.index("<svg") :])
    for shade, colour in ((INK, "currentColor"), *SHADES):
        svg = svg.replace(shade, colour)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(says)}" ', 1)
    # Its words are those of the outputs, which the search has.
    return f"<figure data-search-exclude>{' '.join(svg.split())}</figure>"


def on_page_markdown(markdown, page, config, files):
    """Draw what `page` asks for.

    Raises:
        PluginError: An example is missing, or prints nothing to draw. The site is not built.
    """

    def drawn(found):
        options = {"across": found["across"]} if found["across"] else {}
        return picture(found["kind"], found["names"].split(), **options)

    try:
        return MARKER.sub(drawn, markdown)
    except (ValueError, OSError, snippets.MisshapenError) as error:
        raise PluginError(f"docs/{page.file.src_uri}: {error}") from None
