"""A page below docs/, taken apart once: nothing else knows how its Markdown is written.

`Page.read(file)` and `Page.every()` read files, notebooks too; `Page.parse(text, uri)` takes any
text of a page. All are cached by the text, so that what was edited is read anew. A page has

- `front`: its front matter as a dict; `title`; `text`: the Markdown that was parsed;
- `sections`: a heading and what stands under it, up to the next heading of any level;
- `embeds`, `tabs`, `tables`, `markers`: those of all sections, in their order.

Lines are counted from 1 in `text`, and a span is a pair of places in it: `text[slice(*span)]`.
"""

import functools
import itertools
import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from markdown.extensions.toc import slugify, unique
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mkdocs.utils import meta

from checks import DOCS

BLOCK = re.compile(r'(?P<kind>===|\?\?\?|!!!)\+?(?: \w+)? "(?P<label>.+)"')
EMBED = re.compile(r'--8<-- "(.+\.md)"')
PICTURE = re.compile(r'^--8<-- "(.+\.svg)"$', re.M)
MARKER = re.compile(r"<!-- (?P<word>[a-z]+):?(?: (?P<arguments>.+?))? -->")


class Embed(NamedTuple):
    """An example that is shown, by its name; `tab` is the label of the tab that holds it."""

    name: str
    line: int
    indent: int
    tab: str | None


class Tab(NamedTuple):
    """A tab, and the embeds in it."""

    label: str
    line: int
    embeds: list[Embed]


class Row(NamedTuple):
    """A row of a table: its cells as Markdown, filled up or cut to as many as the head has."""

    cells: list[str]
    line: int


class Table(NamedTuple):
    """A table: the cells of its head, its rows, and the anchor of its section."""

    head: list[str]
    rows: list[Row]
    line: int
    section: str


class Marker(NamedTuple):
    """A comment that asks for something: `<!-- since a/b.md -->`, `<!-- holds: LINE -->`."""

    word: str
    arguments: str
    line: int
    span: tuple[int, int]


class Prose(NamedTuple):
    """A paragraph or cell: its inline tokens, and the links of the row or item it stands in."""

    text: str
    tokens: list
    line: int
    links: list[str]


class Block(NamedTuple):
    """A fence with its info string, such as `text`, or indented code, whose info is empty.

    The code of a notebook is a fence marked `cell`.
    """

    info: str
    content: str
    line: int


@dataclass
class Section:
    """What stands between a heading and the next one; the title is Markdown."""

    title: str
    level: int
    anchor: str
    line: int
    span: tuple[int, int]
    embeds: list[Embed] = field(default_factory=list)
    tabs: list[list[Tab]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    prose: list[Prose] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)

    @property
    def names(self):
        """Return the names of the examples under the heading."""
        return [embed.name for embed in self.embeds]


@dataclass(frozen=True)
class Page:
    """A page and its parts; `uri` is its path below docs/."""

    uri: str
    text: str
    front: dict
    sections: list[Section]

    @staticmethod
    def files():
        """Return the files of all pages, notebooks included."""
        return sorted({*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")} - {*DOCS.glob("assets/*")})

    @classmethod
    def every(cls):
        """Return all pages, in the order of their files."""
        return [cls.read(file) for file in cls.files()]

    @classmethod
    def read(cls, file):
        """Return the page in a file below docs/; a notebook's code stands in fences."""
        text = file.read_text("utf-8")
        if file.suffix == ".ipynb":
            cells = [("".join(c["source"]), c["cell_type"]) for c in json.loads(text)["cells"]]
            text = "\n\n".join(
                cell if kind == "markdown" else f"```cell\n{cell}\n```" for cell, kind in cells
            )
        return cls.parse(text, file.relative_to(DOCS).as_posix())

    @classmethod
    def parse(cls, text, uri):
        """Return the page whose Markdown is `text`.

        Raises:
            ValueError: It has no title.
        """
        return parsed(text, uri)

    @property
    def file(self):
        """Return its file, whether or not there is one."""
        return DOCS / self.uri

    @property
    def title(self):
        """Return its title as Markdown."""
        return self.sections[0].title

    @property
    def embeds(self):
        """Return the embeds of all sections."""
        return [embed for section in self.sections for embed in section.embeds]

    @property
    def names(self):
        """Return the names of the examples that it shows, each once, in their order."""
        return list(dict.fromkeys(embed.name for embed in self.embeds))

    @property
    def tabs(self):
        """Return the sets of tabs of all sections."""
        return [tabs for section in self.sections for tabs in section.tabs]

    @property
    def tables(self):
        """Return the tables of all sections."""
        return [table for section in self.sections for table in section.tables]

    @property
    def markers(self):
        """Return the markers of all sections."""
        return [marker for section in self.sections for marker in section.markers]


def block(state, start, end, silent):
    """Tell markdown-it of tabs (`=== "Label"`), folds and admonitions, indented by four."""
    begins = state.bMarks[start] + state.tShift[start]
    found = BLOCK.fullmatch(state.src[begins : state.eMarks[start]].rstrip())
    if not found or state.is_code_block(start):
        return False
    if silent:
        return True
    last = after = start + 1
    indent = state.sCount[start] + 4
    while after < end and (state.isEmpty(after) or state.sCount[after] >= indent):
        after += 1
        last = last if state.isEmpty(after - 1) else after
    before = state.blkIndent, state.lineMax
    state.blkIndent, state.lineMax = indent, last
    opened = state.push(f"{'tab' if found['kind'] == '===' else 'fold'}_open", "", 1)
    opened.map, opened.meta = [start, last], {"label": found["label"]}
    state.md.block.tokenize(state, start + 1, last)
    state.push(opened.type.replace("open", "close"), "", -1)
    state.blkIndent, state.lineMax = before
    state.line = last
    return True


MARKDOWN = MarkdownIt("commonmark").enable("table")
MARKDOWN.block.ruler.before(
    "fence", "tab", block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
)


def around(node, *kinds):
    """Return the node of one of these kinds that is `node` or holds it, or None."""
    while node and node.type not in kinds:
        node = node.parent
    return node


def row_cells(row):
    """Return the cells of a table's row as Markdown."""
    return [cell.children[0].content for cell in row.children]


def headed(node, taken, span):
    """Return an empty section for a node that is a heading."""
    [inner] = node.children
    title, _, anchor = inner.content.partition(" {#")
    plain = "".join(t.content for t in inner.walk() if t.type in ("text", "code_inline"))
    anchor = unique(anchor.rstrip("}") or slugify(plain, "-"), taken)
    return Section(title, int(node.tag[1]), anchor, node.map[0] + 1, span)


def put(node, section, text, lines):
    """Put what `node` is into its section; `lines` are the places where those of `text` begin."""
    line = ((around(node, "inline") or node).map or [0])[0] + 1
    if node.type in ("fence", "code_block"):
        section.blocks.append(Block(node.info, node.content, line))
    elif node.type == "table":
        head, *rows = (inner for inner in node.walk() if inner.type == "tr")
        rows = [Row(row_cells(row), row.map[0] + 1) for row in rows]
        section.tables.append(Table(row_cells(head), rows, line, section.anchor))
    elif node.type == "tab":
        if not node.previous_sibling or node.previous_sibling.type != "tab":
            section.tabs.append([])
        section.tabs[-1].append(Tab(node.meta["label"], line, []))
    elif node.type in ("html_block", "html_inline"):
        section.pictures += PICTURE.findall(node.content)
        for found in MARKER.finditer(node.content):
            after = section.markers[-1].span[1] if section.markers else 0
            place = text.index(found[0], max(after, lines[line - 1]))
            number = text.count("\n", 0, place) + 1
            span = place, place + len(found[0])
            section.markers.append(Marker(found["word"], found["arguments"] or "", number, span))
    elif node.type == "inline" and node.parent.type != "heading":
        if found := EMBED.fullmatch(node.content):
            tab = around(node, "tab")
            indent = text.index("-", lines[line - 1]) - lines[line - 1]
            embed = Embed(found[1], line, indent, tab and tab.meta["label"])
            section.embeds.append(embed)
            if tab:
                section.tabs[-1][-1].embeds.append(embed)
        else:
            item = around(node, "tr", "list_item")
            links = [n.attrs["href"] for n in item.walk() if n.type == "link"] if item else []
            section.prose.append(Prose(node.content, node.token.children, line, links))


@functools.cache
def parsed(text, uri):
    """Return the page whose Markdown is `text`."""
    rest, front = meta.get_data(text)
    above = text[: len(text) - len(rest)].count("\n")
    tree = SyntaxTreeNode(MARKDOWN.parse("\n" * above + rest))
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    headings = [node for node in tree.walk() if node.type == "heading"]
    starts = [lines[node.map[0]] for node in headings] + [len(text)]
    if not headings:
        raise ValueError(f"docs/{uri} has no title: begin it with one, like # What it is about")
    taken = set()
    sections = [
        headed(node, taken, span)
        for node, span in zip(headings, itertools.pairwise(starts), strict=True)
    ]
    place = 0
    for node in tree.walk(include_self=False):
        place += node.type == "heading" and node is not headings[0]
        put(node, sections[place], text, lines)
    return Page(uri, text, front, sections)
