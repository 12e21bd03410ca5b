"""Offer each page as plain Markdown.

It stands beside the page, and `llms.txt` lists it, as https://llmstxt.org proposes.
"""

import posixpath
import re
import textwrap
from pathlib import PurePosixPath

from checks import ROOT
from finder.mapping import joined
from website.render import rendered

EMBED = re.compile(r'^( *)--8<-- "(.+)"$', re.M)
PICTURE = re.compile(r".*<title\b[^>]*>(.*?)</title>\s*<desc\b[^>]*>(.*?)</desc>.*", re.S)
LIMIT = 100_000  # bytes, which programs that read for a model take at once
BLOCK = re.compile(r'^(?:===|!!!|\?\?\?).*?"(.+)"\n((?: {4}.*\n|\n)+)', re.M)
PROSE = re.compile(
    r"(?P<code>^ *```.*?^ *```$|`[^`\n]+`)|\]\((?P<path>[^)\s:#]+)(?=[)\s#])"
    r'|<figure\b[^>]* aria-label="(?P<picture>[^"]+)"[^>]*>'
    r"|<(svg|style|script|fieldset|figcaption)\b.*?</\4>|<!--.*?-->|</?[a-z]+(?:\s[^<>]*)?>"
    r"|(?:(?<=\S) *|^)\{(?:[#:]| (?:lang=|download))[^}\n]*\}",
    re.M | re.S,
)


def beside(file, ending="md"):
    """Return the address of the Markdown beside the page of `file`, or of its notebook."""
    name = file.name if ending == "ipynb" else PurePosixPath(file.dest_uri).stem
    return str(PurePosixPath(file.dest_uri).with_name(f"{name}.{ending}"))


def taken_from(base, address, site):
    """Return the address of a file of the site, or, without the site's, as seen from `base`."""
    url = site.config.site_url
    return url + address if url else posixpath.relpath(address, base or ".")


def twin(page, site, base):
    """Return a page for readers that know nothing but Markdown, in the folder `base`."""

    def embedded(found):
        folders = site.config.mdx_configs["pymdownx.snippets"]["base_path"]
        file = next(file for f in folders if (file := ROOT / f / found[2]).exists())
        text = PICTURE.sub(r"Picture: \1. \2", file.read_text("utf-8").strip())
        return textwrap.indent(text, found[1])

    def replaced(found):
        if found["picture"]:
            return f"Picture: {found['picture']}"
        if not found["path"]:
            return found["code"] or ""
        path = posixpath.join(posixpath.dirname(page.file.src_uri), found["path"])
        file = site.files.get_file_from_path(posixpath.normpath(path))
        if not file:  # which MkDocs tells, too
            return found[0]
        address = beside(file) if file.is_documentation_page() else file.dest_uri
        return f"]({taken_from(base, address, site)}"

    text, blocks = EMBED.sub(embedded, site.markdown[page.file.src_uri]) + "\n", 1
    while blocks:  # one may stand inside another
        text, blocks = BLOCK.subn(lambda b: f"**{b[1]}**\n{textwrap.dedent(b[2])}", text)
    text = re.sub(r"\n{3,}", "\n\n", PROSE.sub(replaced, text)).strip()
    html = page.canonical_url or posixpath.relpath(page.file.dest_uri, base or ".")
    return text.replace("\n", f"\n\n[Read this as a web page]({html})\n", 1) + "\n"


def texts_of_topic(part, site):
    """Return what a part of the navigation holds, in texts of at most LIMIT bytes, by their paths.

    A page is cut only where it is longer, at a heading.
    """
    name, texts = re.sub(r"\W+", "-", part.title.lower()).strip("-"), [""]
    pages = [page for page in site.pages.values() if part == page or part in page.ancestors]
    for text in (twin(page, site, "llms") for page in pages):
        for piece in re.split("^(?=## )", text, flags=re.M) if len(text) > LIMIT // 2 else [text]:
            if len((texts[-1] + piece).encode()) > LIMIT:
                texts.append("")
            texts[-1] += piece
    return {f"llms/{name}{f'-{n}' if n > 1 else ''}.txt": text for n, text in enumerate(texts, 1)}


def guide(site):
    """Return what an assistant needs that ports code, in one text."""
    data = {"site": site, "taken_from": taken_from, "beside": beside, "rules": joined()["rules"]}
    return rendered("llms-port.txt", **data).strip() + "\n"


def twins_and_lists(site):
    """Return each page as Markdown, the list of them, and one file with all: {path: text}."""
    pages, texts = site.pages.values(), {}
    for page in pages:
        address = beside(page.file)
        texts[address] = twin(page, site, posixpath.dirname(address))
    topics = {part.title: texts_of_topic(part, site) for part in site.nav}
    for found in topics.values():
        texts |= found
    data = {"site": site, "taken_from": taken_from, "topics": topics}
    texts["llms.txt"] = rendered("llms.txt", **data) + "\n"
    texts["llms-port.txt"] = guide(site)
    return texts | {"llms-full.txt": "\n".join(twin(page, site, "") for page in pages)}
