"""Write the table of parameters, docs/parameters/parameters.json, into the pages that ask for it.

A page asks with `<!-- verdicts -->` for the short table and `<!-- parameters -->` for the full one.
"""

import json
import posixpath
from pathlib import Path

TABLES = {
    "<!-- verdicts -->": "| parameter | verdict | in short |",
    "<!-- parameters -->": "| parameter | verdict | with a tape | default | in TF 2 |",
}


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
    return markdown
