"""A picture of a report: both loss loss_curves, and the difference of each weight in each step."""

import math
from xml.sax.saxutils import escape

STYLES = (
    'stroke="#b0bec5" stroke-width="8"',
    'stroke="#bf360c" stroke-width="2" stroke-dasharray="6 4"',
)
CELL, TOP, LEFT, MOST = 62, 250, 190, 40
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
    'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>'
)


def drawn(report):
    """Return an SVG of a `Report`; a cell holds the relative difference.

    Cells that differ by more than rounding explains are framed and dark.
    """
    rows = {}
    for row in report.rows:
        if row.kind in ("gradient", "step"):
            rows.setdefault((row.kind, row.name), []).append(row)
    steps = len(report.old.steps)
    width = LEFT + max(steps * CELL, 420) + 20
    parts = loss_curves(report, width)
    line = TOP
    for kind in ("gradient", "step"):
        names = [one for one in rows if one[0] == kind][:MOST]
        parts.append(text(10, line + 14, f"{kind}: apart by", "bold"))
        line += 24
        for one in names:
            parts.append(text(10, line + 15, one[1][-26:]))
            parts += [cell(LEFT + row.t * CELL, line, row) for row in rows[one]]
            line += 22
        line += 12
    parts += [text(LEFT + t * CELL, TOP + 14, f"step {t + 1}") for t in range(steps)]
    return HEAD.format(width=width, height=line + 6) + "".join(parts) + "</svg>\n"


def loss_curves(report, width):
    """Return the loss loss_curves: the old one a wide line, the new one a dashed line upon it."""
    name = next(iter(report.old.steps[0].losses))
    sides = [
        [
            float(abs(side.steps[t].losses.get(name, math.nan)).mean())
            for t in range(len(side.steps))
        ]
        for side in (report.old, report.new)
    ]
    finite = [one for side in sides for one in side if math.isfinite(one)]
    low, high = min(finite), max(finite)
    across = (width - LEFT - 40) / max(len(sides[0]) - 1, 1)
    parts = [
        text(10, 20, report.headline(), "bold"),
        text(10, 60, name),
        text(10, 90, f"{high:.5g}"),
        text(10, 220, f"{low:.5g}"),
        text(10, 130, "wide: old"),
        text(10, 150, "dashed: new"),
    ]
    for side, style in zip(sides, STYLES):
        points = " ".join(
            f"{LEFT + t * across:.1f},{215 - 130 * (one - low) / ((high - low) or 1):.1f}"
            for t, one in enumerate(side)
            if math.isfinite(one)
        )
        parts.append(f'<polyline fill="none" {style} points="{points}"/>')
    return parts


def cell(left, top, row):
    """Return one difference as a box."""
    fill, color, edge = "#eceff1", "#263238", "none"
    if row.wrong:
        fill, color, edge = "#bf360c", "white", "black"
    box = '<rect x="%d" y="%d" width="%d" height="20" fill="%s" stroke="%s"/>'
    shown = "0" if not row.apart else f"{row.apart:.0e}"
    return box % (left, top, CELL - 3, fill, edge) + text(left + 5, top + 15, shown, color=color)


def text(left, top, words, weight="normal", color="#263238"):
    """Return words at a place."""
    place = f'x="{left}" y="{top}" font-weight="{weight}" fill="{color}"'
    return f"<text {place}>{escape(words)}</text>"
