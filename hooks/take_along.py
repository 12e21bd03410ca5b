"""Offer each page as plain Markdown, its examples as a notebook, and the site as one archive.

The Markdown stands beside the page, and `llms.txt` lists it, as https://llmstxt.org proposes.
OFFLINE=true builds a site that works from a folder, and packs that into FOLDER.zip; a build with
ARCHIVE=FOLDER.zip offers it.
"""

import os
import posixpath
import re
import shutil
import textwrap
import zipfile
from importlib.metadata import version
from pathlib import Path

import nbformat
from mkdocs.plugins import event_priority
from nbformat import v4

from checks import ROOT, SNIPPETS, snippets

EMBED = re.compile(r'^( *)--8<-- "(.+)"$', re.M)
PICTURE = re.compile(r".*<title\b[^>]*>(.*?)</title>\s*<desc\b[^>]*>(.*?)</desc>.*", re.S)
BLOCK = re.compile(r'^(?:===|!!!|\?\?\?).*?"(.+)"\n((?: {4}.*\n|\n)+)', re.M)
PROSE = re.compile(
    r"(?P<code>^ *```.*?^ *```$|`[^`\n]+`)|\]\((?P<path>[^)\s:#]+)(?=[)\s#])"
    r'|<figure\b[^>]* aria-label="(?P<picture>[^"]+)"[^>]*>|<(svg|style|script)\b.*?</\4>'
    r"|<fieldset>.*?</fieldset>|<!--.*?-->|</?[a-z]+(?:\s[^<>]*)?>"
    r"|(?<=\S) *\{(?:[#:]| lang=)[^}\n]*\}",
    re.M | re.S,
)
OUTLINE = re.compile(r'^(##+) (.+)$|^===\+? "(.+)"$|^ *--8<-- "(.+\.md)"$', re.M)
DATA = {
    "parameters/parameters.json": "What became of each parameter of tf.gradients",
    "old-api/calls.json": "What became of each other old call and argument",
    "evidence/releases.json": "What each example did on each release",
    "llms-full.txt": "All pages",
}
OFFLINE = "assets/offline.js"
TENSORFLOW = version("tensorflow")
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
TEXTS, NOTEBOOKS, PAGES = {}, {}, []


def on_config(config):
    """Let an archive search without a server, and tell the template of one to offer."""
    if "polyfills" in config.extra:  # the offline plugin's is on another host
        config.extra["polyfills"] = [OFFLINE]
    config.extra["archive"] = Path(os.environ.get("ARCHIVE", "")).name
    TEXTS.clear()
    NOTEBOOKS.clear()


def on_nav(nav, config, files):
    """Keep the order of the pages."""
    PAGES[:] = nav.pages


def beside(file, name=""):
    """Return the address of the Markdown beside the page of `file`, or of `name` there."""
    name = name or posixpath.basename(file.dest_uri).replace(".html", ".md")
    return posixpath.join(posixpath.dirname(file.dest_uri), name)


def link(address, base, config):
    """Return a link to an address below that of the site, from a file in its folder `base`."""
    return config.site_url + address if config.site_url else posixpath.relpath(address, base or ".")


def plain(markdown, base, page, config, files):
    """Return the Markdown of `page` for readers that know nothing but Markdown."""

    def embedded(found):
        folders = config.mdx_configs["pymdownx.snippets"]["base_path"]
        file = next(file for f in folders if (file := ROOT / f / found[2]).exists())
        text = PICTURE.sub(r"Picture: \1. \2", file.read_text("utf-8").strip())
        return textwrap.indent(text, found[1])

    def replaced(found):
        if found["picture"]:
            return f"Picture: {found['picture']}"
        if not found["path"]:
            return found["code"] or ""
        path = posixpath.join(posixpath.dirname(page.file.src_uri), found["path"])
        file = files.get_file_from_path(posixpath.normpath(path))
        if not file:  # which MkDocs tells, too
            return found[0]
        address = beside(file) if file.is_documentation_page() else file.dest_uri
        return f"]({link(address, base, config)}"

    text, blocks = EMBED.sub(embedded, markdown) + "\n", 1
    while blocks:  # one may stand inside another
        text, blocks = BLOCK.subn(lambda b: f"**{b[1]}**\n{textwrap.dedent(b[2])}", text)
    text = re.sub(r"\n{3,}", "\n\n", PROSE.sub(replaced, text)).strip()
    html = page.canonical_url or posixpath.relpath(page.file.dest_uri, base or ".")
    return re.sub("\n", f"\n\n[Read this as a web page]({html})\n", text, count=1) + "\n"


def notebook(markdown, page):
    """Return the examples that the Markdown of `page` embeds, as a notebook without outputs."""
    title = re.search("^# (.+)$", markdown, re.M)[1]
    html = page.canonical_url or posixpath.basename(page.file.dest_uri)
    above = [
        (1, f"# {title}"),
        (
            1,
            f"The examples of [this page]({html}), each with what TensorFlow {TENSORFLOW} prints, "
            "or 1.15.5 where only TensorFlow 1 runs it.",
        ),
    ]
    cells = []

    def add(make, text):
        cells.append(make(text.rstrip(), id=f"cell-{len(cells) + 1}"))

    for level, heading, label, name in OUTLINE.findall(markdown):
        if not name:
            rank, text = (len(level), f"{level} {heading}") if level else (7, f"**{label}**")
            above = [head for head in above if head[0] < rank]
            above.append((rank, PROSE.sub(r"\g<code>", text)))
            continue
        example = snippets.read(SNIPPETS / name)
        reasons = {
            "Only TensorFlow 1 runs this:": example.old,
            "This ends the process that runs it, so it is no cell:": example.kills,
            "This needs a process of its own. Run it in a fresh runtime:": example.alone,
        }
        why = [reason for reason, holds in reasons.items() if holds][:1]
        code = [f"```python\n{example.code}```"] if why else []
        if text := "\n\n".join([*(text for _, text in above), *why, *code]):
            add(v4.new_markdown_cell, text)
        if not why:
            add(v4.new_code_cell, example.code)
        add(v4.new_markdown_cell, f"prints\n\n```text\n{example.output}```")
        above = []
    return v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def on_page_markdown(markdown, page, config, files):
    """Keep what a page says and shows, and tell its template what there is to take along."""
    folder = posixpath.dirname(page.file.dest_uri)
    for base in {folder, ""}:
        TEXTS[beside(page.file), base] = plain(markdown, base, page, config, files)
    page.meta["markdown"] = beside(page.file)
    address, examples = beside(page.file, f"{page.file.name}.ipynb"), snippets.embeds(markdown)
    # Each error needs a process of its own.
    if runs := examples and not page.file.src_uri.startswith("errors/"):
        NOTEBOOKS[address] = notebook(markdown, page)
    if runs or page.file.src_uri.endswith(".ipynb"):  # mkdocs-jupyter copies that one
        page.meta["notebook"] = address


def pack(folder):
    """Write `folder` into a zip file beside it, the same one each time."""
    with zipfile.ZipFile(f"{folder}.zip", "w") as archive:
        for file in sorted(file for file in Path(folder).rglob("*") if file.is_file()):
            name = file.relative_to(Path(folder).parent).as_posix()
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


@event_priority(-200)  # after the search index is written
def on_post_build(config):
    """Write what there is to take along."""
    site, sections = Path(config.site_dir), {}
    for page in PAGES:
        part = page.ancestors[-1].title if page.ancestors else page.title
        title, address = page.meta.get("title", page.title), beside(page.file)
        about = f": {page.meta['description']}" if "description" in page.meta else ""
        line = f"- [{title}]({link(address, '', config)}){about}"
        sections.setdefault(f"## {part}", []).append(line)
        site.joinpath(address).write_text(TEXTS[address, posixpath.dirname(address)], "utf-8")
    for address, book in NOTEBOOKS.items():
        site.joinpath(address).write_text(nbformat.writes(book) + "\n", "utf-8")
    lists = [f"{part}\n\n" + "\n".join(lines) for part, lines in sections.items()]
    index = [f"# {config.site_name}", f"> {config.site_description}", *lists]
    linked = [f"- [{about}]({link(file, '', config)})" for file, about in DATA.items()]
    index.append("## Data\n\n" + "\n".join(linked))
    site.joinpath("llms.txt").write_text("\n\n".join(index) + "\n", "utf-8")
    whole = "\n".join(TEXTS[beside(page.file), ""] for page in PAGES)
    site.joinpath("llms-full.txt").write_text(whole, "utf-8")
    if OFFLINE in config.extra.get("polyfills", []):
        pack(config.site_dir)
    elif archive := os.environ.get("ARCHIVE"):
        shutil.copy(archive, site)
