"""Show a notebook as a page like the others, and offer the examples of a page as a notebook.

mkdocs-jupyter finds and configures the notebooks; by itself it would render them as JupyterLab
does, with 590 KB of styles, requests to other hosts, and links that nobody checks.
EXECUTED names a folder where builds that follow each other find what the first one executed.
"""

import os
import re
from importlib.metadata import version
from pathlib import Path

from mkdocs.exceptions import PluginError
from nbclient.exceptions import CellExecutionError
from nbconvert import MarkdownExporter
from nbformat import v4, writes
from traitlets.config import Config

from website.render import rendered
from website.twins import PROSE, beside

TENSORFLOW = version("tensorflow")
SHOWN = str(Path(__file__).parent / "templates/notebook.md.j2")
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def executed(page, config):
    """Return a notebook as Markdown: its cells and what they print.

    Raises:
        PluginError: A cell failed. The site is not built.
    """
    folder = os.environ.get("EXECUTED")
    known = folder and Path(folder, page.file.name).with_suffix(".md")
    execute = {
        "enabled": config.plugins["mkdocs-jupyter"].config["execute"],
        # What TensorFlow's C++ says at start-up belongs to the terminal; warnings stay on the page.
        "extra_arguments": ["--IPKernelApp.capture_fd_output=False"],
    }
    # How the kernel cuts what a cell prints into pieces depends on how busy the machine is.
    joined = {"preprocessors": ["nbconvert.preprocessors.CoalesceStreamsPreprocessor"]}
    configuration = Config({"ExecutePreprocessor": execute, "MarkdownExporter": joined})
    exporter = MarkdownExporter(config=configuration, template_file=SHOWN)
    try:
        if known and known.exists():
            markdown = known.read_text("utf-8")
        else:
            markdown, _ = exporter.from_filename(page.file.abs_src_path)
    except CellExecutionError as error:
        says = "fails: mend the cell, or what the text says, and run `python3 noxfile.py -s docs`"
        raise PluginError(f"docs/{page.file.src_uri} {says}.\n{error}") from None
    if known:
        known.write_text(markdown, "utf-8")
    del page.render  # mkdocs-jupyter's, and so MkDocs' own is left
    strip = rendered("executed.md", version=TENSORFLOW)
    return re.sub(r"^# .*$", rf"\g<0>\n\n{strip}", markdown, count=1, flags=re.M)


def has_notebook(page, site):
    """Tell whether the examples of a page make a notebook; each error needs its own process."""
    return site.source(page).embeds and not page.file.src_uri.startswith("errors/")


def offers(page, site):
    """Return what readers can take along from a page, for its template."""
    whole = page.file.src_uri.endswith(".ipynb")  # which mkdocs-jupyter copies
    notebook = beside(page.file, "ipynb") if whole or has_notebook(page, site) else None
    return {"markdown": beside(page.file), "notebook": notebook}


def reason_for_no_cell(example):
    """Return why an example stands in a notebook as text, or nothing."""
    if example.old:
        return "Only TensorFlow 1 runs this:"
    if example.kills:
        return "This ends the process that runs it, so it is no cell:"
    if example.alone:
        return "This needs a process of its own. Run it in a fresh runtime:"
    return ""


def examples_as_notebook(page, site):
    """Return the examples of a page as a notebook without outputs."""
    shown, cells = site.source(page), []
    # What no cell has yet: the headings, by their levels.
    above = {1: rendered("examples.md", page=page, shown=shown, version=TENSORFLOW)}
    first_in_tab = {tab.embeds[0] for tabs in shown.tabs for tab in tabs if tab.embeds}
    for section in shown.sections:
        if section.level > 1:
            above = {level: text for level, text in above.items() if level < section.level}
            above[section.level] = PROSE.sub(r"\g<code>", f"{'#' * section.level} {section.title}")
        for embed in section.embeds:
            example = site.examples[embed.name]
            texts, above = [*above.values()], {}
            texts += [f"**{embed.tab}**"] if embed in first_in_tab else []
            if reason := reason_for_no_cell(example):
                texts += [reason, f"```python\n{example.code}```"]
            cells += [v4.new_markdown_cell("\n\n".join(texts))] if texts else []
            cells += [] if reason else [v4.new_code_cell(example.code.rstrip())]
            cells.append(v4.new_markdown_cell(f"prints\n\n```text\n{example.output}```"))
    for number, cell in enumerate(cells, 1):
        cell.id = f"cell-{number}"
    return v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def notebooks_of_examples(site):
    """Return the notebooks beside their pages: {path: text}."""
    pages = [page for page in site.pages.values() if has_notebook(page, site)]
    return {beside(p.file, "ipynb"): writes(examples_as_notebook(p, site)) + "\n" for p in pages}
