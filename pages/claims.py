"""What a page claims, and whether an example under that heading shows it.

A claim is a number in digits, an exception's name, a truth value, None, a quoted message, or
inline code with one of these, or a block of text, such as a signature. A number that the sentence
calls a result must be printed, and so must a block of text.
"""

import functools
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from markdown.extensions.toc import slugify, unique
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from checks import DOCS, SNIPPETS
from checks.snippets import EMBED, markdown, pages, read

NUMBER = r"(?<!\w-)(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)"
ROW = rf"{NUMBER}(?:(?:[\s.,&\\()\[\]]+| and ){NUMBER})*"
NAME = r"\b(?:\w+(?:Error|Exception|Warning)|SIG[A-Z]+|True|False|None)\b"
CLAIM = re.compile(rf'["“](?P<quote>[^"”\n]+)["”]|(?P<row>{ROW})|(?P<name>{NAME})')
# What is no claim: comments, attributes, releases, issues, dates.
NO_CLAIM = re.compile(
    r"<!--.*?-->|\{[^}\n]*\}|#\d+\b|\b\d{4}-\d\d-\d\d\b|\bv?\d+\.\d+\.\d+\b"
    r"|\b(?:TensorFlow|TF|Python|Keras|NumPy|setuptools|Chromium|GPflow) \d+(?:\.\d+)*"
    r"(?:(?:,| and| or| to| …)+ \d+\.\d+)*(?![\w.]*\d)"
)
RESULT = re.compile(
    r"\b(?:prints?|gives?|gave|returns?|results?|becomes?|comes? (?:out|to)|equals?)\b[^.;:!?]*$"
)
DESCRIPTION = re.compile(r"\A---\n.*?^description: (?:>-)?\s*(.*?)^(?=\S)", re.M | re.S)
PICTURE = re.compile(r'^--8<-- "(.+\.svg)"$', re.M)
TAB = re.compile(r"^(?:===|\?\?\?) .*\n((?: {4}.*\n|\n)+)", re.M)
MARKDOWN = MarkdownIt("commonmark").enable("table")


class Claim(NamedTuple):
    """A claim, its place, whether it is said to be a result, and the links of its row or item."""

    text: str
    kind: str
    line: int
    result: bool
    links: list


class Section(NamedTuple):
    """What stands under a heading: its examples, pictures, a notebook's cells, its claims."""

    title: str
    anchor: str
    names: list
    pictures: list
    cells: list
    claims: list

    @property
    def printed(self):
        """All that the examples print; a cell asserts what its notebook says."""
        return "\n".join([*self.cells, *(read(SNIPPETS / name).output for name in self.names)])

    @property
    def shown(self):
        """What the examples print and what they are made of."""
        return "\n".join([self.printed, *(read(SNIPPETS / name).code for name in self.names)])


def said(inline, line, links):
    """Yield the claims of a line's tokens, as markdown-it-py gives them."""
    before = ""
    for token in inline.children:
        content = token.content
        if token.type == "text":
            content = NO_CLAIM.sub(lambda found: " " * len(found[0]), content)
            for found in CLAIM.finditer(content):
                result = bool(RESULT.search(before + content[: found.start()]))
                text = found["quote"] or found[0].rstrip(" .,&\\([")
                yield Claim(text, found.lastgroup, line, result, links)
        elif token.type == "code_inline" and re.search(rf"\d|{NAME}", content):
            kind = "name" if re.fullmatch(NAME, content) else "code"
            yield Claim(content, kind, line, False, links)
        before = "" if token.type == "softbreak" else before + content
        line += token.type == "softbreak"


def body(page):
    """Return a page's Markdown without front matter, tabs and folds, at the same lines."""
    front = re.compile(r"\A---\n.*?^---$", re.M | re.S)
    text = front.sub(lambda found: "\n" * found[0].count("\n"), markdown(page))
    return TAB.sub(lambda tab: "\n" + textwrap.dedent(tab[1]), text)


def links(node):
    """Return where the links of the table's row or list's item lead that `node` stands in."""
    while node and node.type not in ("tr", "list_item"):
        node = node.parent
    return [inner.attrs["href"] for inner in node.walk() if inner.type == "link"] if node else []


@functools.cache
def sections(page):
    """Return the sections of a page, in their order; its title starts the first."""
    found, taken = [Section("", "", [], [], [], [])], set()
    for node in SyntaxTreeNode(MARKDOWN.parse(body(page))).walk():
        section, inside = found[-1], node.type == "inline"
        if inside and node.parent.type == "heading":
            title, _, anchor = node.content.partition(" {#")
            plain = "".join(t.content for t in node.walk() if t.type in ("text", "code_inline"))
            anchor = unique(anchor.rstrip("}") or slugify(plain, "-"), taken)
            found.append(Section(title, anchor, [], [], [], []))
        elif inside and (embed := EMBED.fullmatch(node.content)):
            section.names.append(embed[1])
        elif inside:
            section.claims.extend(said(node.token, node.map[0] + 1, links(node)))
        elif node.type == "html_block":
            section.pictures.extend(PICTURE.findall(node.content))
        elif node.type == "fence" and node.info == "cell":
            section.cells.append(node.content)
        elif node.type == "fence" and node.info == "text" and "--8<--" not in node.content:
            section.claims.append(Claim(node.content, "text", node.map[0] + 2, True, []))
    return found[1:]


def numbers(text):
    """Spell the numbers in `text` one way, so that 5, 5. and 5.0 are the same."""
    return "".join(f" {float(number)}" for number in re.findall(NUMBER, text)) + " "


def supported(claim, text):
    """Tell whether `text` holds what `claim` says."""
    if claim.kind == "row":
        rows = [text] if " and " in claim.text else re.findall(ROW, text)
        return any(numbers(claim.text) in numbers(row) for row in rows)
    if claim.kind == "text":  # as printed, but laid out for the page
        return "".join(claim.text.split()) in "".join(text.split())
    if claim.kind == "name":  # printed or passed on, but not as in persistent=True
        return bool(re.search(rf"(?<!=)\b{claim.text}\b", text))
    return " ".join(claim.text.split()) in " ".join(text.split())


def target(page, href):
    """Return the section that a link leads to, or None if that is not on this site's pages."""
    path, _, anchor = href.partition("#")
    file = (page.parent / path).resolve() if path else page
    if file not in pages():
        return None
    return next((s for s in sections(file) if not anchor or s.anchor == anchor), None)


def unsupported(page):
    """Return the claims on `page` that no example under the same heading shows or prints.

    A row of a table and an item of a list also borrow the examples that they link to, and the
    description, which stands in a list of search results, all of its page.
    """
    described = " ".join(DESCRIPTION.findall(markdown(page)))
    everything = "\n".join(section.shown for section in sections(page))
    about = said(MARKDOWN.parseInline(described)[0], 1, [])
    wrong = [claim for claim in about if not supported(claim, everything)]
    for section in sections(page):
        for claim in section.claims:
            near = [section, *filter(None, (target(page, href) for href in claim.links))]
            if not any(supported(claim, s.printed if claim.result else s.shown) for s in near):
                wrong.append(claim)
    return wrong


def home(name):
    """Return where readers find the example `name`: a page below docs/, and its section.

    Of several pages, it is the one whose path the example's folder has.

    Raises:
        KeyError: No page embeds it.
    """
    found = [
        (
            page.relative_to(DOCS).with_suffix("") != Path(name).parent,
            str(page.relative_to(DOCS)),
            section,
        )
        for page in pages()
        for section in sections(page)
        if name in section.names
    ]
    if not found:
        raise KeyError(name)
    return min(found, key=lambda place: place[0])[1:]
