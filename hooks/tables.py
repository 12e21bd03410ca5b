"""Write tables into the pages that ask for them.

`<!-- verdicts -->` asks for the short table of parameters, docs/parameters/parameters.json, and
`<!-- parameters -->` for the full one; `<!-- statements -->` for the verdicts of the page itself.
"""

import json
import posixpath
import re
from collections import Counter
from pathlib import Path

TABLES = {
    "<!-- verdicts -->": "| parameter | verdict | in short |",
    "<!-- parameters -->": "| parameter | verdict | with a tape | default | in TF 2 |",
}

STATEMENT = re.compile(
    r"^### (?P<says>.+) \{(?P<anchor>#.+)\}\n\n"
    r'(?P<chip><span class="verdict.+?>(?P<verdict>.+?)</span>)',
    re.M,
)


def cells(row, folder):
    """Spell one parameter's values as the cells of a Markdown table."""
    return {
        "parameter": f"[`{row['parameter']}`]({posixpath.relpath(row['page'], folder or '.')})",
        "default": f"`{row['default']}`" if row["default"] else "required",
        "in TF 2": "yes" if row["in_tf2"] else "no",
        "verdict": f'<span class="verdict {row["verdict"]}">{row["verdict"]}</span>',
        "with a tape": row["tape"],
        "in short": row["says"],
    }


def statements(markdown):
    """Return the table of the statements that stand as headings above their verdicts."""
    found = list(STATEMENT.finditer(markdown))
    counts = Counter(statement["verdict"] for statement in found)
    lines = [
        f"{len(found)} statements: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        + ".",
        "",
        "| statement | verdict |",
        "|---|---|",
    ]
    lines += [f"| [{s['says']}]({s['anchor']}) | {s['chip']} |" for s in found]
    return "\n".join(lines)


def on_page_markdown(markdown, page, config, files):
    """Replace each marker on `page` by its table, with links from that page."""
    rows = json.loads(
        Path(config.docs_dir, "parameters/parameters.json").read_text("utf-8")
    )
    folder = posixpath.dirname(page.file.src_uri)
    for marker, head in TABLES.items():
        columns = [name.strip() for name in head.strip("|").split("|")]
        lines = [head, "|---" * len(columns) + "|"]
        for row in rows:
            values = cells(row, folder)
            lines.append("| " + " | ".join(values[name] for name in columns) + " |")
        markdown = markdown.replace(marker, "\n".join(lines))
    return markdown.replace("<!-- statements -->", statements(markdown))
