"""What a page claims, and whether an example under that heading shows it.

A claim is a number in digits, an exception's name, a truth value, None, a quoted message, or
inline code with one of these. A number that the sentence calls a result must be printed.
"""

import functools
import re
import textwrap
from typing import NamedTuple

from markdown.extensions.toc import slugify
from markdown_it import MarkdownIt

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
TAB = re.compile(r"^=== .*\n((?: {4}.*\n|\n)+)", re.M)
LINK = re.compile(r"^(?P<page>[^#:]*)(?:#(?P<anchor>.*))?$")
MARKDOWN = MarkdownIt("commonmark").enable("table")


class Claim(NamedTuple):
    """A claim, its place, whether it is said to be a result, and the links of its row or item."""

    text: str
    kind: str
    line: int
    result: bool
    links: tuple


class Section(NamedTuple):
    """What stands under a heading: its title and anchor, examples, a notebook's cells, claims."""

    title: str
    anchor: str
    names: list
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
    """Return a page's Markdown without front matter and tabs, at the same lines."""
    front = re.compile(r"\A---\n.*?^---$", re.M | re.S)
    text = front.sub(lambda found: "\n" * found[0].count("\n"), markdown(page))
    return TAB.sub(lambda tab: "\n" + textwrap.dedent(tab[1]), text)


@functools.cache
def sections(page):
    """Return the sections of a page; what stands above the first heading belongs to none."""
    found, taken, block = [Section("", "", [], [], [])], set(), []
    tokens = MARKDOWN.parse(body(page))
    for place, token in enumerate(tokens):
        if token.type == "inline" and tokens[place - 1].type == "heading_open":
            title, _, anchor = token.content.partition(" {#")
            anchor = anchor.rstrip("}") or slugify(
                "".join(t.content for t in token.children if t.type in ("text", "code_inline")), "-"
            )
            while anchor in taken:
                anchor = re.sub(
                    r"(?:_(\d+))?$", lambda n: f"_{int(n[1] or 0) + 1}", anchor, count=1
                )
            taken.add(anchor)
            found.append(Section(title, anchor, [], [], []))
        elif token.type in ("tr_open", "list_item_open"):
            close = token.type.replace("open", "close")
            ends = next(
                i
                for i, t in enumerate(tokens)
                if i > place and (t.type, t.level) == (close, token.level)
            )
            inside = [
                c for t in tokens[place:ends] for c in t.children or () if c.type == "link_open"
            ]
            block.append(tuple(c.attrs["href"] for c in inside))
        elif token.type in ("tr_close", "list_item_close"):
            block.pop()
        elif token.type == "inline":
            links = block[-1] if block else ()
            if EMBED.fullmatch(token.content):
                found[-1].names.append(EMBED.fullmatch(token.content)[1])
            else:
                found[-1].claims.extend(said(token, token.map[0] + 1, links))
        elif token.type == "fence" and token.info == "cell":
            found[-1].cells.append(token.content)
    return found


def numbers(text):
    """Spell the numbers in `text` one way, so that 5, 5. and 5.0 are the same."""
    return "".join(f" {float(number)}" for number in re.findall(NUMBER, text)) + " "


def supported(claim, text):
    """Tell whether `text` holds what `claim` says."""
    if claim.kind == "row":
        rows = [text] if " and " in claim.text else re.findall(ROW, text)
        return any(numbers(claim.text) in numbers(row) for row in rows)
    if claim.kind == "name":  # printed or passed on, but not as in persistent=True
        return bool(re.search(rf"(?<!=)\b{claim.text}\b", text))
    return " ".join(claim.text.split()) in " ".join(text.split())


def target(page, href):
    """Return the section that a link leads to, or None if that is not on this site's pages."""
    link = LINK.match(href)
    file = (page.parent / link["page"]).resolve() if link and link["page"] else page
    if not link or not file.is_relative_to(DOCS) or file.suffix not in (".md", ".ipynb"):
        return None
    return next(
        (s for s in sections(file) if not link["anchor"] or s.anchor == link["anchor"]), None
    )


def unsupported(page):
    """Return the claims on `page` that no example under the same heading shows or prints.

    A row of a table and an item of a list also borrow the examples that they link to, and the
    description, which stands in a list of search results, all of its page.
    """
    [described] = MARKDOWN.parse("".join(DESCRIPTION.findall(markdown(page))))[1:2] or [None]
    everything = "\n".join(section.shown for section in sections(page))
    about = said(described, 1, ()) if described else ()
    wrong = [claim for claim in about if not supported(claim, everything)]
    for section in sections(page):
        for claim in section.claims:
            near = [section, *filter(None, (target(page, href) for href in claim.links))]
            if not any(supported(claim, s.printed if claim.result else s.shown) for s in near):
                wrong.append(claim)
    return wrong


def home(name):
    """Return where readers find the example `name`: a page below docs/, and its section.

    Of several pages, it is the one that the example's folder is named after.

    Raises:
        KeyError: No page embeds it.
    """
    found = [
        (page.stem != name.split("/")[0], str(page.relative_to(DOCS)), section)
        for page in pages()
        for section in sections(page)
        if name in section.names
    ]
    if not found:
        raise KeyError(name)
    return min(found, key=lambda place: place[0])[1:]
