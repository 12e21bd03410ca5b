"""Write verdicts: a chip, the tables and the legend that show them, and what became of a name."""

import re
from urllib.parse import urljoin

from finder.mapping import joined
from pages.calls import VERDICTS, verdict_tables
from pages.statements import POLARITY
from website.render import seen_from, verdict_chip

CELLS = re.compile(rf"^(\|[^|\n]+\| )({'|'.join(VERDICTS)})(?= \|)", re.M)
DECIDING = re.compile(rf"^(?:<!-- (?:{'|'.join(POLARITY)}): .+ -->\s*)+", re.M)


def with_statement_chips(markdown, page, site):
    """Return a page's Markdown with the verdict of each statement under its heading."""
    statements = iter(site.statements.get(page.file.src_uri, ()))
    return DECIDING.sub(lambda _: verdict_chip(next(statements).verdict) + " ", markdown)


def with_verdict_chips(markdown):
    """Return a page's Markdown with a chip in place of each word that is a verdict."""
    return CELLS.sub(lambda row: row[1] + verdict_chip(row[2]), markdown)


def parameter_chip(page, site, name):
    """Return the chip of a parameter, or of a verdict itself, in the words that a page has.

    Raises:
        KeyError: There is neither, or the page has words but none for it.
    """
    found = {word: word for word in (*VERDICTS, "trap")}
    verdict = (found | {one.parameter: one.verdict for one in site.nine})[name]
    words = page.meta.get("verdicts")
    return verdict_chip(verdict, words and words[verdict])


def subtitle(page, site):
    """Return what stands in the navigation under a parameter's name: its verdict."""
    fates = {one.verdict: 0 for one in site.nine if one.page == page.file.src_uri}
    return {"subtitle": ", ".join(fates)} if fates else {}


def calls_of_all_pages(page, site):
    """Return the tables of old calls of all pages, page by page, with links from `page`."""
    lines = []
    for uri, shown in site.pages.items():

        def link(found, uri=uri):
            return f"]({seen_from(page, urljoin(uri, found[1]))})"

        if tables := verdict_tables(site.parsed[uri]):
            title = shown.parent.title if shown.is_index else shown.title
            lines += ["", f"## [{title}]({seen_from(page, uri)})"]
        for table in tables:
            rows = site.parsed[uri].text.split("\n")[table.line - 1 : table.rows[-1].line]
            lines += ["", re.sub(r"\]\((?!https:)(.*?)\)", link, "\n".join(rows))]
    return "\n".join(lines)


def codes_of_finder(page, site):
    """Return the codes of the finder: what each finds, its verdict, and where it is settled."""
    lines = ["| code | finds | verdict | see |", "|---|---|---|---|"]
    for rule in sorted(joined()["rules"], key=lambda one: one["number"]):
        address, _, anchor = rule["page"].partition("/#")
        uri = address.strip("/") + ".md"
        if uri not in site.parsed:
            uri = address.strip("/") + "/index.md"
        title = site.parsed[uri].title
        target = seen_from(page, uri + (f"#{anchor}" if anchor else ""))
        verdict = verdict_chip("trap" if rule.get("trap") else rule["verdict"])
        lines.append(f"| `{rule['number']}` | `{rule['id']}` | {verdict} | [{title}]({target}) |")
    return "\n".join(lines)
