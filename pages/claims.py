"""What a page claims, and whether an example under that heading shows it.

A text that a program of this repository printed, and that the page includes, shows it as well.

A claim is a number in digits, an exception's name, a truth value, None, a quoted message, or
inline code with one of these, or a block of text, such as a signature. A number that the sentence
calls a result must be printed, and so must a block of text. A word of `OUTCOMES` claims that
something happens, or where, which an example shows, or one that the paragraph links to, or public
code or an issue that it links to; those of `PRINTED` must be printed. In the text of a link, it
is the section it leads to that says or shows it.

A paragraph speaks of the examples beside it: of those that follow, where it ends with a colon.
What begins in bold speaks of all under the heading, and code to write may stand in any of them.
"""

import re
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from pages.page import MARKDOWN, Block, Embed, Page, Prose

NUMBER = r"(?<!\w-)(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)"
ROW = rf"{NUMBER}(?:(?:[\s.,&\\()\[\]]+| and ){NUMBER})*"
NAME = r"\b(?:\w+(?:Error|Exception|Warning)|SIG[A-Z]+|True|False|None)\b"
# What a word says that a call does, and what then stands in an example or in its output.
OUTCOMES = {
    r"raises?(?! nothing)|raised": r"\w(?:Error|Exception|Warning)\b",
    r"zeros": r"(?<![\d.\[(=])0(?![\d.])|(?<![\d.])0\.0*(?!\d)|zero",  # not as in x[0]
    r"NaN": r"(?i:\bnan\b)",
    r"dies|died|crash(?:es)?": r"exit status",
    r"hangs?": r"no end|killed",
    r"(?<!othing )warns|with a warning": r"(?i:warn)",
    r"(?:\w+s|are|still|by|of|for|with|only) ones": r"(?<![\d.])1(?:\.0*)?(?![\d.])|ones",
    r"(?:gives?|is|are|still|be|returns?|has|gets?) None": r"None",
    # Where it happens: on these words, sentences broke more often than on all others.
    r"XLA|jit_compile": r"jit_compile|XLA",
    r"replicas?": r"Strategy|replica|tower|device",
    r"threads?": r"[tT]hread",
    r"complex": r"complex|\dj\b",
    r"frozen(?! graph)": r"trainable ?= ?False|frozen",
    r"[dD]ropout": r"[dD]ropout",
}
PRINTED = ("zeros", "ones", "NaN", " None", "with a warning")
CLAIM = re.compile(
    rf'["“](?P<quote>[^"”\n]+)["”]|(?P<row>{ROW})|(?P<name>{NAME})'
    rf"|(?P<outcome>\b(?:{'|'.join(OUTCOMES)})\b)"
)
# What is no claim: comments, attributes, releases, issues, dates.
NO_CLAIM = re.compile(
    r"<!--.*?-->|\{[^}\n]*\}|#\d+\b|\b\d{4}-\d\d-\d\d\b|\bv?\d+\.\d+\.\d+\b"
    r"|\b(?:TensorFlow|TF|Python|Keras|NumPy|setuptools|Chromium|GPflow) \d+(?:\.\d+)*"
    r"(?:(?:,| and| or| to| …)+ \d+\.\d+)*(?![\w.]*\d)"
)
RESULT = re.compile(
    r"\b(?:prints?|gives?|gave|returns?|results?|becomes?|comes? (?:out|to)|equals?)\b[^.;:!?]*$"
)


class Claim(NamedTuple):
    """A claim, its place, whether it is said to be a result, and the links of its row or item.

    `inside` is the address of the link in whose text it stands, or empty.
    """

    text: str
    kind: str
    line: int
    result: bool
    links: list
    inside: str


def claims_in(tokens, line, links):
    """Yield the claims of a paragraph's tokens, as markdown-it-py gives them."""
    before, inside = "", ""
    around = [t.attrs["href"] for t in tokens if t.type == "link_open"]
    for token in tokens:
        content = token.content
        if token.type in ("link_open", "link_close"):
            inside = token.attrs.get("href", "")
        if token.type == "text":
            content = NO_CLAIM.sub(lambda found: " " * len(found[0]), content)
            for found in CLAIM.finditer(content):
                result = bool(RESULT.search(before + content[: found.start()]))
                text = found["quote"] or found[0].rstrip(" .,&\\([")
                near = links + around if found["outcome"] else links
                result = text.endswith(PRINTED) if found["outcome"] else result
                yield Claim(text, found.lastgroup, line, result, near, inside)
        elif token.type == "code_inline" and re.search(rf"\d|{NAME}", content):
            kind = "name" if re.fullmatch(NAME, content) else "code"
            yield Claim(content, kind, line, False, links, inside)
        elif token.type == "code_inline" and content.startswith("jit_compile"):
            yield Claim("jit_compile", "outcome", line, False, links + around, inside)
        before = "" if token.type == "softbreak" else before + content
        line += token.type == "softbreak"


def claims_of(section):
    """Yield what a section claims, with the section, or the part of it, that is to show it."""
    for prose in section.prose:
        near = section if prose.text.startswith("**") else near_examples(prose, section)
        for claim in claims_in(prose.tokens, prose.line, prose.links):
            yield claim, section if claim.kind == "code" else near
    for block in section.blocks:
        if block.info == "text" and not block.included:
            yield Claim(block.content, "text", block.line + 1, True, [], ""), section


def near_examples(prose, section):
    """Return the section cut to the examples beside a paragraph, or whole where there are none."""
    parts = [part for part in section.parts if isinstance(part, Prose | Embed | Block)]
    parts.sort(key=lambda part: part.line)
    runs = [list(run) for _, run in groupby(parts, key=lambda part: isinstance(part, Prose))]
    at = next(n for n, run in enumerate(runs) if any(part is prose for part in run))
    near = [part for run in runs[at + 1 : at + 2] for part in run]
    if prose is not runs[at][-1] or not prose.text.endswith(":"):
        near = [part for run in runs[max(at - 1, 0) : at] for part in run] + near
    return replace(section, parts=near) if any(isinstance(p, Embed) for p in near) else section


def spelled_alike(text):
    """Spell the numbers in `text` one way, so that 5, 5. and 5.0 are the same."""
    return "".join(f" {float(number)}" for number in re.findall(NUMBER, text)) + " "


def supported(claim, text):
    """Tell whether `text` holds what `claim` says."""
    if claim.kind == "row":
        rows = [text] if " and " in claim.text else re.findall(ROW, text)
        return any(spelled_alike(claim.text) in spelled_alike(row) for row in rows)
    if claim.kind == "text":  # as printed, but laid out for the page
        return "".join(claim.text.split()) in "".join(text.split())
    if claim.kind == "outcome":
        if not claim.result and any(href.startswith("http") for href in claim.links):
            return True  # it says what code of others does
        return any(re.search(OUTCOMES[w], text) for w in OUTCOMES if re.fullmatch(w, claim.text))
    if claim.kind == "name":  # printed or passed on, but not as in persistent=True
        return bool(re.search(rf"(?<!=)\b{claim.text}\b", text))
    return " ".join(claim.text.split()) in " ".join(text.split())


def section_at(page, href):
    """Return the section that a link leads to, or None if that is not on this site's pages."""
    path, _, anchor = href.partition("#")
    file = (page.file.parent / path).resolve() if path else page.file
    if file.suffix not in (".md", ".ipynb") or not file.is_file():
        return None
    return next((s for s in Page.read(file).sections if anchor in ("", s.anchor)), None)


def unsupported_claims(page):
    """Return the claims on `page` that no example under the same heading shows or prints.

    A row of a table and an item of a list also borrow the examples that they link to, and the
    description, which stands in a list of search results, all of its page.
    """
    [described] = MARKDOWN.parseInline(page.front.get("description", ""))
    about = claims_in(described.children, 1, [])
    wrong = [claim for claim in about if not supported(claim, page.shown)]
    for section in page.sections:
        for claim, own in claims_of(section):
            led = section_at(page, claim.inside) if claim.inside else None
            near = [section if led else own]
            near += filter(None, (section_at(page, href) for href in claim.links))
            where = "printed" if claim.result else "shown"
            shown = any(supported(claim, getattr(s, where)) for s in near)
            if not shown or (led and not supported(claim, led.text + getattr(led, where))):
                wrong.append(claim)
    return wrong


def home(name):
    """Return where readers find the example `name`: a section.

    Of several pages, it is the one whose path the example's folder has.

    Raises:
        KeyError: No page embeds it.
    """
    found = [s for page in Page.every() for s in page.sections if name in s.names]
    if not found:
        raise KeyError(name)
    own = name.rpartition("/")[0]
    return next((place for place in found if place.uri.rpartition(".")[0] == own), found[0])
