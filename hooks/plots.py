"""Draw what examples print.

`<!-- plot task/graph.md task/tape.md -->` has a curve for each printed line of five numbers
or more, such as `loss: 2.1 1.7 …`, over the line `x:`, `t:` or `step:` if there is one. The example
named first is drawn as a broad band, the next one as a thin line on it, so that both are seen.
`<!-- heat task/map.md -->` has a cell for each number in the longest lines of an example.
"""

import html
import io
import re

import matplotlib as mpl
from matplotlib.figure import Figure
from mkdocs.exceptions import PluginError

from checks import SNIPPETS, snippets

MARKER = re.compile(r"^<!-- (?P<kind>plot|heat) (?P<names>\S+(?: \S+)*) -->$", re.M)
LINE = re.compile(r"^(?P<label>[^:\n]*):(?P<numbers>(?: +[-+]?[\d.]+(?:e[-+]?\d+)?){5,}) *$", re.M)
ROW = re.compile(r"^(?:[^:\n]*:)?(?P<numbers>(?: *[-+]?[\d.]+(?:e[-+]?\d+)?){3,}) *$", re.M)
ACROSS = "x", "t", "step", "steps"
SIDES = {"graph": "TF 1 graph", "tape": "TF 2 tape"}
INK = "#010101"  # stands for the colour of the text, which is another one in the dark
SHADES = ("#010102", "var(--curve-1)"), ("#010103", "var(--curve-2)"), ("#010104", "var(--curve-3)")
# A style would hold for the whole page, as names would; the page knows its font and the size.
UNUSED = re.compile(
    r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>|font-family: [^;]*;"
    r'| id="[a-z2_.]+_\d+"| (?:width|height)="[\d.]+pt"',
    re.S,
)
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "plots",  # the same names at each build
    "font.size": 22,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": mpl.cycler(color=[shade for shade, _ in SHADES]),
    "legend.frameon": False,
} | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK)
STYLE |= dict.fromkeys(("xtick.color", "ytick.color"), INK)


def numbers(text):
    """Return the numbers in a line of output."""
    return [float(number) for number in text.split()]


def curves(name, output):
    """Return the label and the numbers of each line to draw, and what lies below them.

    Raises:
        ValueError: No line has five numbers, or a line has another count than the axis.
    """
    found = [(line["label"].strip(), numbers(line["numbers"])) for line in LINE.finditer(output)]
    axis = next(((label, x) for label, x in found if label in ACROSS), None)
    drawn = [(label, y) for label, y in found if not axis or label != axis[0]]
    if not drawn or (axis and any(len(y) != len(axis[1]) for _, y in drawn)):
        raise ValueError(f"{name} prints no line of five numbers, or of as many as its {ACROSS}")
    return drawn, axis


def plot(names, outputs):
    """Return a figure with the printed lines of all examples, and what it shows in words."""
    figure = Figure(figsize=(640 / 72, 340 / 72), layout="constrained")
    axes, labels = figure.subplots(), []
    for place, (name, output) in enumerate(zip(names, outputs, strict=True)):
        stem = name.split("/")[-1].removesuffix(".md")
        side = SIDES.get(stem, stem.replace("_", " "))
        drawn, axis = curves(name, output)
        for order, (label, y) in enumerate(drawn):
            broad = len(names) > 1 and not place
            x = axis[1] if axis else range(len(y))
            axes.plot(
                *(x, y),
                color=SHADES[order % len(SHADES)][0],
                linewidth=9 if broad else 2.5,
                alpha=0.35 if broad else 1,
                label=f"{label}, {side}" if len(names) > 1 else label,
            )
            labels.append(label)
        if axis:
            axes.set_xlabel(axis[0])
    axes.legend(fontsize=18)
    return figure, f"Curves of the printed lines {', '.join(dict.fromkeys(labels))}"


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


def drawn(kind, names):
    """Return an SVG in the colours of the page.

    Raises:
        ValueError: An example does not print what can be drawn.
    """
    outputs = [snippets.read(SNIPPETS / name).output for name in names]
    with mpl.rc_context(STYLE):
        figure, says = {"plot": plot, "heat": heat}[kind](names, outputs)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = UNUSED.sub("", svg[svg.index("<svg") :])
    for shade, colour in ((INK, "currentColor"), *SHADES):
        svg = svg.replace(shade, colour)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(says)}" ', 1)
    return f"<figure>{' '.join(svg.split())}</figure>"


def on_page_markdown(markdown, page, config, files):
    """Draw what `page` asks for.

    Raises:
        PluginError: An example is missing, or prints nothing to draw. The site is not built.
    """
    try:
        return MARKER.sub(lambda found: drawn(found["kind"], found["names"].split()), markdown)
    except (ValueError, OSError, snippets.MisshapenError) as error:
        raise PluginError(f"docs/{page.file.src_uri}: {error}") from None
