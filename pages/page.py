"""A page below docs/, taken apart once: nothing else knows how its Markdown is written.

`Page.read(file)` and `Page.every()` read files, notebooks too; `Page.parse(text, uri)` takes any
text of a page. All are kept by their text, so that what was edited is read anew. A page has

- `front`: its front matter as a dict; `title`; `text`: the Markdown that was parsed;
- `sections`: a heading and what stands under it, up to the next heading of any level;
- and, like each of its sections, what `Parts` names: embeds, tabs, tables, markers and so on.

Lines are counted from 1 in `text`.
"""

import bisect
import functools
import itertools
import json
import re
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from markdown.extensions.toc import slugify, unique
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mkdocs.utils import meta

from checks import DOCS, ROOT, SNIPPETS
from checks.snippets import read

# A tab or a fold, of which markdown-it knows nothing.
INDENTED = re.compile(
    r'^(?P<kind>===|\?\?\?)\+?(?: \w+)? "(?P<label>.+)"\n(?P<inside>(?: {4}.*(?:\n|\Z)|\n)+)', re.M
)
EMBED = re.compile(r'^ *--8<-- "(.+\.md)"$', re.M)
INCLUDE = re.compile(r'--8<-- "(.+\.txt)"\n')
# From these, mkdocs.yml lets a page include a text.
ROOMS = ROOT / "bench", ROOT / "breaks", ROOT / "finder"
PICTURE = re.compile(r'^--8<-- "(.+\.svg)"$', re.M)
MARKER = re.compile(r"<!-- (?P<word>[a-z]+):?(?: (?P<arguments>.+?))? -->")
MARKDOWN = MarkdownIt("commonmark").enable("table")


class Span(NamedTuple):
    """A part of a text, `text[slice(*span)]`."""

    start: int
    end: int


class Embed(NamedTuple):
    """An example that is shown, by its name; `tab` is the label of the tab that holds it."""

    name: str
    line: int
    indent: int
    tab: str | None


class Tab(NamedTuple):
    """A tab, the line after its last one, and the embeds in it."""

    label: str
    line: int
    end: int
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
    span: Span


class Prose(NamedTuple):
    """A paragraph or cell: its inline tokens, and the links of the row or item it stands in."""

    text: str
    tokens: list
    line: int
    links: list[str]


class Block(NamedTuple):
    """A fence with its info string, such as `text`, or indented code, which has none.

    The code of a notebook is a fence marked `cell`.
    """

    info: str
    content: str
    line: int

    @property
    def included(self):
        """What the file says that it includes, which a program printed, or nothing."""
        found = INCLUDE.fullmatch(self.content)
        files = [room / found[1] for room in ROOMS] if found else []
        return "".join(file.read_text("utf-8") for file in files if file.exists())


@dataclass
class Parts:
    """What stands on a page or under a heading; `tabs` holds sets of them, `pictures` names."""

    embeds: list[Embed] = field(default_factory=list, init=False)
    tabs: list[list[Tab]] = field(default_factory=list, init=False)
    tables: list[Table] = field(default_factory=list, init=False)
    markers: list[Marker] = field(default_factory=list, init=False)
    prose: list[Prose] = field(default_factory=list, init=False)
    blocks: list[Block] = field(default_factory=list, init=False)
    pictures: list[str] = field(default_factory=list, init=False)

    @property
    def names(self):
        """The names of the examples, each once, in their order."""
        return list(dict.fromkeys(embed.name for embed in self.embeds))

    @property
    def printed(self):
        """All that examples and other programs print; a cell asserts what its notebook says."""
        texts = [block.content if block.info == "cell" else block.included for block in self.blocks]
        return "\n".join([*texts, *(read(SNIPPETS / name).output for name in self.names)])

    @property
    def shown(self):
        """What the examples print and what they are made of."""
        return "\n".join([self.printed, *(read(SNIPPETS / name).code for name in self.names)])


@dataclass
class Section(Parts):
    """A heading, its title as Markdown, and what stands under it."""

    title: str
    level: int
    anchor: str
    line: int
    span: Span


@dataclass
class Page(Parts):
    """A page and its sections; `uri` is its path below docs/."""

    uri: str
    text: str
    front: dict
    sections: list[Section]

    def __post_init__(self):
        """Give the page the parts of all its sections."""
        for part in fields(Parts):
            every = (getattr(section, part.name) for section in self.sections)
            setattr(self, part.name, list(itertools.chain(*every)))
        self.file, self.title = DOCS / self.uri, self.sections[0].title

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
    @functools.cache
    def parse(cls, text, uri):
        """Return the page whose Markdown is `text`.

        Raises:
            ValueError: It has no title.
        """
        rest, front = meta.get_data(text)
        above = text[: len(text) - len(rest)].count("\n")
        body = INDENTED.sub(dedented, "\n" * above + rest)
        nodes = list(SyntaxTreeNode(MARKDOWN.parse(body)).walk(include_self=False))
        sections = headed([node for node in nodes if node.type == "heading"], text)
        if not sections:
            raise ValueError(f"docs/{uri} has no title: begin it with # and what it is about")
        put_tabs(text, sections)
        put_markers(text, sections)
        for node in nodes:
            if node.map:
                put_node(node, text, under(sections, node.map[0] + 1))
        return cls(uri, text, front, sections)


def dedented(found):
    """Return what stands in a tab or a fold, at the same lines."""
    return "\n" + re.sub("^ {4}", "", found["inside"], flags=re.M)


def line_at(text, place):
    """Return the line of a place in `text`."""
    return text.count("\n", 0, place) + 1


def headed(headings, text):
    """Return a section, still empty, for each node that is a heading."""
    sections, taken = [], set()
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    ends = [*(starts[node.map[0]] for node in headings[1:]), len(text)]
    for node, end in zip(headings, ends, strict=False):
        [inner] = node.children
        title, _, anchor = inner.content.partition(" {#")
        plain = "".join(t.content for t in inner.walk() if t.type in ("text", "code_inline"))
        anchor = unique(anchor.rstrip("}") or slugify(plain, "-"), taken)
        span = Span(starts[node.map[0]], end)
        sections.append(Section(title, int(node.tag[1]), anchor, node.map[0] + 1, span))
    return sections


def under(sections, line):
    """Return the section in which a line stands."""
    return sections[max(bisect.bisect(sections, line, key=lambda section: section.line) - 1, 0)]


def put_tabs(text, sections):
    """Put the tabs into their sections, those that follow each other in one set."""
    end = 0
    for found in INDENTED.finditer(text):
        line = line_at(text, found.start())
        if found["kind"] == "===":
            sets = under(sections, line).tabs
            if line > end:
                sets.append([])
            end = line_at(text, found.end())
            sets[-1].append(Tab(found["label"], line, end, []))


def put_markers(text, sections):
    """Put the markers into their sections."""
    for found in MARKER.finditer(text):
        line = line_at(text, found.start())
        marker = Marker(found["word"], found["arguments"] or "", line, Span(*found.span()))
        under(sections, line).markers.append(marker)


def enclosing(node, *kinds):
    """Return the node of one of these kinds that holds `node`, or None."""
    while node and node.type not in kinds:
        node = node.parent
    return node


def row_of(node):
    """Return the row of a table that a node is."""
    return Row([cell.children[0].content for cell in node.children], node.map[0] + 1)


def put_node(node, text, section):
    """Put what a node of the tree is into its section."""
    line = node.map[0] + 1
    if node.type in ("fence", "code_block"):
        section.blocks.append(Block(node.info, node.content, line))
    elif node.type == "html_block":
        section.pictures += PICTURE.findall(node.content)
    elif node.type == "table":
        head, *rows = (row_of(inner) for inner in node.walk() if inner.type == "tr")
        section.tables.append(Table(head.cells, rows, line, section.anchor))
    elif node.type == "inline" and (found := EMBED.fullmatch(node.content)):
        indent = len(re.match(" *", text.splitlines()[line - 1])[0])
        tab = next((t for tabs in section.tabs for t in tabs if t.line < line < t.end), None)
        section.embeds.append(Embed(found[1], line, indent, tab and tab.label))
        if tab:
            tab.embeds.append(section.embeds[-1])
    elif node.type == "inline" and node.parent.type != "heading":
        item = enclosing(node, "tr", "list_item")
        links = [n.attrs["href"] for n in item.walk() if n.type == "link"] if item else []
        section.prose.append(Prose(node.content, node.token.children, line, links))
