"""A page below docs/, taken apart once: nothing else knows how its Markdown is written.

`Page.read(file)` and `Page.every()` read files, notebooks too; `Page.parse(text, uri)` takes any
text of a page. All are kept by their text, so that what was edited is read anew. A page has

- `front`: its front matter as a dict; `title`; `text`: its Markdown, which has blank lines where
  the front matter stands;
- `sections`: a heading and what stands under it, up to the next heading of any level;
- and, like each of its sections, what stands on it: embeds, tabs, tables, markers and so on.

Lines are counted from 1 in `text`.
"""

import functools
import json
import re
from dataclasses import dataclass
from typing import NamedTuple

from markdown.extensions.toc import slugify, unique
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mkdocs.utils import meta

from checks import DOCS, ROOT, SNIPPETS
from checks.snippets import read

# A tab or a fold, of which markdown-it knows nothing: its kind, its label, and what is inside.
INDENTED = re.compile(r'^(===|\?\?\?)\+?(?: \w+)? "(.+)"\n((?: {4}.*\n?|\n)+)', re.M)
MARGIN = re.compile("^ {4}", re.M)
EMBED = re.compile(r'^( *)--8<-- "(.+\.md)"$', re.M)
INCLUDE = re.compile(r'--8<-- "(.+\.txt)"\n')
# From these, mkdocs.yml lets a page include a text.
ROOMS = [ROOT / room for room in ("bench", "breaks", "finder", "prover", "shapes", "trials")]
PICTURE = re.compile(r'^--8<-- "(.+\.svg)"$', re.M)
MARKER = re.compile(r"<!-- (?P<word>[a-z]+):?(?: (?P<arguments>.+?))? -->")
MARKDOWN = MarkdownIt("commonmark").enable("table")


class Embed(NamedTuple):
    """An example that is shown, by its name; `tab` is the label of the tab that holds it."""

    name: str
    line: int
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
    """A table: the cells of its head, and its rows."""

    head: list[str]
    rows: list[Row]
    line: int


class Marker(NamedTuple):
    """A comment that asks for something: `<!-- since a/b.md -->`, `<!-- holds: LINE -->`."""

    word: str
    arguments: str
    line: int


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
class Section:
    """A heading, its title as Markdown, and what stands under it, with the path of its page.

    `tabs` holds sets of them, and `pictures` names.
    """

    uri: str
    title: str
    level: int
    anchor: str
    line: int
    text: str
    parts: list

    def __post_init__(self):
        """Sort the parts by their kinds, and put tabs that follow each other in one set."""
        self.embeds = self.of_kind(Embed)
        self.tables = self.of_kind(Table)
        self.markers = self.of_kind(Marker)
        self.prose = self.of_kind(Prose)
        self.blocks = self.of_kind(Block)
        self.pictures = PICTURE.findall(self.text)
        self.tabs = []
        for tab in self.of_kind(Tab):
            if not self.tabs or tab.line > self.tabs[-1][-1].end:
                self.tabs.append([])
            self.tabs[-1].append(tab)

    def of_kind(self, kind):
        """Return the parts that are of a kind, in their order."""
        return [part for part in self.parts if isinstance(part, kind)]

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


class Page(Section):
    """A page is what its first heading would hold if no other one followed, and all sections."""

    front: dict
    sections: list[Section]

    @property
    def file(self):
        """The file that holds it."""
        return DOCS / self.uri

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
        text = "\n" * text[: len(text) - len(rest)].count("\n") + rest
        # What stands in a tab or a fold, at the same lines.
        body = INDENTED.sub(lambda found: "\n" + MARGIN.sub("", found[3]), text)
        tree = SyntaxTreeNode(MARKDOWN.parse(body))
        nodes = [node for node in tree.walk(include_self=False) if node.map]
        headings = [node for node in nodes if node.type == "heading"]
        if not headings:
            raise ValueError(f"docs/{uri} has no title: begin it with # and what it is about")
        parts = [*tabs_and_markers(text)]
        tabs = [part for part in parts if isinstance(part, Tab)]
        parts += filter(None, (part_at(node, tabs) for node in nodes))
        [page] = sections_of(headings[:1], uri, text, parts, cls)
        page.front, page.sections = front, list(sections_of(headings, uri, text, parts))
        return page


def line_at(text, place):
    """Return the line of a place in `text`."""
    return text.count("\n", 0, place) + 1


def tabs_and_markers(text):
    """Yield the tabs, whose embeds are not yet in them, and the markers."""
    for found in INDENTED.finditer(text):
        if found[1] == "===":
            yield Tab(found[2], line_at(text, found.start()), line_at(text, found.end()), [])
    for found in MARKER.finditer(text):
        yield Marker(found["word"], found["arguments"] or "", line_at(text, found.start()))


def part_at(node, tabs):
    """Return what a node of the tree is, or None; an embed is put into its tab, too."""
    line = node.map[0] + 1
    if node.type in ("fence", "code_block"):
        return Block(node.info, node.content, line)
    if node.type == "table":
        trs = (inner for inner in node.walk() if inner.type == "tr")
        head, *rows = (Row([td.children[0].content for td in tr], tr.map[0] + 1) for tr in trs)
        return Table(head.cells, rows, line)
    if node.type != "inline" or node.parent.type == "heading":
        return None
    if found := EMBED.fullmatch(node.content):
        around = [tab for tab in tabs if tab.line < line < tab.end]
        embed = Embed(found[2], line, around[0].label if around else None)
        for tab in around:
            tab.embeds.append(embed)
        return embed
    item = node.parent
    while item and item.type not in ("tr", "list_item"):
        item = item.parent
    links = [inner.attrs["href"] for inner in item.walk() if inner.type == "link"] if item else []
    return Prose(node.content, node.token.children, line, links)


def sections_of(headings, uri, text, parts, kind=Section):
    """Yield the sections that begin at the headings; the first has what is above it, too."""
    lines, taken = re.findall(".*\n|.+", text), set()
    starts = [0, *(heading.map[0] for heading in headings[1:]), len(lines)]
    for heading, start, end in zip(headings, starts, starts[1:], strict=False):
        [inner] = heading.children
        title, _, anchor = inner.content.partition(" {#")
        plain = "".join(t.content for t in inner.walk() if t.type in ("text", "code_inline"))
        anchor = unique(anchor.rstrip("}") or slugify(plain, "-"), taken)
        level, line, own = int(heading.tag[1]), heading.map[0] + 1, "".join(lines[start:end])
        inside = [part for part in parts if start < part.line <= end]
        yield kind(uri, title, level, anchor, line, own, inside)
