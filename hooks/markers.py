"""Write into a page what it asks for by a comment.

`<!-- verdicts -->` and `<!-- parameters -->`: the short and the full table of parameters.json.
`<!-- calls -->`: the tables of all pages that tell what became of an old call.
`<!-- cases -->`: the cases, from the heads of their pages, with the times that bench/ took.
`<!-- symptoms -->`: the rows of symptoms.json, each with a link to the example that shows it.
`<!-- statements -->`: all statements with their verdicts; under a statement's own heading,
`<!-- holds: … -->` and `<!-- fails: … -->` become its verdict.
`<!-- count examples -->`: how many there are, also of errors, statements, releases and verdicts.
`<!-- since page/name.md -->`, `until`, `on`: on which releases the example prints the same.
"""

import itertools
import json
import posixpath
import re
from collections import Counter
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from mkdocs.utils import meta

from checks import DOCS, ROOT, snippets
from pages import calls, claims, errors, statements
from pages.page import Page
from releases import data as releases

MARKER = re.compile(r"<!-- (?P<word>[a-z]+)(?: (?P<name>\S+))? -->")
TABLES = {
    "verdicts": "| parameter | verdict | in short |",
    "parameters": "| parameter | verdict | with a tape | default | in TF 2 |",
}
CALLS = "old-api/calls.json"
OUTCOMES, PAGES = {}, []


def on_files(files, config):
    """Offer the calls of all pages as data, too.

    Raises:
        PluginError: A table of old calls has a row without a verdict. The site is not built.
    """
    found = []
    for file in files.documentation_pages():
        if file.src_uri.endswith(".md"):
            try:
                rows = calls.calls(file.content_string)
            except ValueError as error:
                raise PluginError(f"docs/{file.src_uri}: {error}") from None
            found += [{**row._asdict(), "page": file.src_uri} for row in rows]
    data = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    files.append(File.generated(config, CALLS, content=data))


def on_nav(nav, config, files):
    """Read the data again at each build, and the order of the pages.

    Raises:
        PluginError: A file below snippets/ is no example. The site is not built.
    """
    OUTCOMES.clear()
    try:
        OUTCOMES.update(releases.load())
    except snippets.MisshapenError as error:
        raise PluginError(str(error)) from None
    PAGES[:] = nav.pages


def link(path, page):
    """Return the address of the page at `path`, below docs/, as seen from `page`."""
    return posixpath.relpath(path, posixpath.dirname(page.file.src_uri) or ".")


def rows():
    """Return what became of each parameter of tf.gradients."""
    return json.loads((DOCS / "parameters/parameters.json").read_text("utf-8"))


def listed(counts):
    """Write counts as a reader would: 3 gone, 1 lost."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def parameters(table, page):
    """Return a table of the parameters of tf.gradients."""
    columns = [name.strip() for name in TABLES[table].strip("|").split("|")]
    lines = [TABLES[table], "|---" * len(columns) + "|"]
    for row in rows():
        values = {
            "parameter": f"[`{row['parameter']}`]({link(row['page'], page)})",
            "default": f"`{row['default']}`" if row["default"] else "required",
            "in TF 2": "yes" if row["in_tf2"] else "no",
            "verdict": row["verdict"],
            "with a tape": row["tape"],
            "in short": row["says"],
        }
        lines.append("| " + " | ".join(values[name] for name in columns) + " |")
    return "\n".join(lines)


def symptoms(page):
    """Return the table of symptoms, each with a link to the heading above its example."""
    lines = ["| you see | the page that settles it |", "|---|---|"]
    for row in json.loads((DOCS / "symptoms.json").read_text("utf-8")):
        path, section = claims.home(row["example"])
        address = f"{link(path, page)}#{section.anchor}"
        lines.append(f"| {row['see']} | [{section.title}]({address}) |")
    return "\n".join(lines)


def source(page):
    """Return the Markdown of `page`, as it stands in its file."""
    return Path(page.file.abs_src_path).read_text("utf-8")


def stated(page):
    """Return the statements on `page`."""
    return statements.statements(Page.read(DOCS / page.file.src_uri))


def chip(statement):
    """Return the verdict of a statement as HTML."""
    verdict = statement.verdict
    return f'<span class="verdict {verdict.split()[-1]}">{verdict}</span>'


def with_chips(markdown, page):
    """Return a page's Markdown with a chip in place of the lines that decide a statement."""
    for statement in reversed(statements.statements(Page.parse(markdown, page.file.src_uri))):
        start, end = statement.lines[0].span.start, statement.lines[-1].span.end
        markdown = f"{markdown[:start]}{chip(statement)} {markdown[end:].lstrip()}"
    return markdown


def every_call(page):
    """Return the tables of old calls of all pages, page by page, with links from `page`."""
    lines = []
    for shown in PAGES:

        def leads(found, shown=shown):
            path = posixpath.join(posixpath.dirname(shown.file.src_uri), found[1])
            path = posixpath.normpath(path) if found[1] else shown.file.src_uri
            return f"]({link(path, page)}{found[2] or ''})"

        if tables := calls.tables(source(shown)):
            lines += ["", f"## [{shown.title}]({link(shown.file.src_uri, page)})"]
            for table in tables:
                lines += ["", re.sub(r"\]\((?!https:)([^)#]*)(#[^)]*)?\)", leads, table)]
    return "\n".join(lines)


def cases(page):
    """Return the table of the cases, in the order of the navigation.

    Raises:
        KeyError: The head of a case lacks what a column shows, or nobody timed it.
    """
    file = ROOT / "bench/cases.json"
    times = json.loads(file.read_text("utf-8")) if file.exists() else {}
    lines = ["| case | old | new | what differs silently | time, old = 1 |", "|---" * 5 + "|"]
    for shown in PAGES:
        path = Path(shown.file.src_uri)
        if path.match("cases/*.md") and shown != page:
            _, head = meta.get_data(source(shown))
            cells = [head[name] for name in ("old", "new", "silent")]
            name = f"[{shown.title}]({link(shown.file.src_uri, page)})"
            if path.stem not in times:
                raise KeyError(f"{path.stem} in bench/cases.json: nox -s bench -- --update")
            lines.append(f"| {' | '.join([name, *cells, str(times[path.stem])])} |")
    return "\n".join(lines)


def every_statement(page):
    """Return the table of the statements of all pages, page by page."""
    pages = [(shown, found) for shown in PAGES if (found := stated(shown))]
    counts = Counter(s.verdict for s in itertools.chain(*(found for _, found in pages)))
    radio = '<label><input type="radio" name="verdict" value="{}"{}>&nbsp;{}&nbsp;({})</label>'
    radios = [radio.format("all", " checked", "all", counts.total())]
    for verdict in sorted(counts)[::-1]:
        word = verdict.replace(" ", "&nbsp;")
        radios.append(radio.format(verdict.split()[-1], "", word, counts[verdict]))
    lines = ["<fieldset><legend>Show</legend>", *radios, "</fieldset>"]
    for shown, found in pages:
        address = link(shown.file.src_uri, page)
        lines += ["", f"## [{shown.title}]({address})", "", "| statement | verdict |", "|---|---|"]
        says = ((f"[{s.section.title}]({address}#{s.section.anchor})", chip(s)) for s in found)
        lines += [f"| {said} | {verdict} |" for said, verdict in says]
    return "\n".join(lines)


def count(name):
    """Return how many examples, statements or releases there are, or each verdict."""
    return {
        "examples": lambda: len(snippets.files()),
        "statements": lambda: sum(len(stated(shown)) for shown in PAGES),
        "calls": lambda: sum(len(calls.calls(source(shown))) for shown in PAGES),
        "errors": lambda: len(errors.every_entry()),
        "releases": lambda: len(releases.RELEASES),
        "verdicts": lambda: listed(Counter(row["verdict"] for row in rows())),
    }[name]()


def on_page_markdown(markdown, page, config, files):
    """Replace each marker on `page`.

    Raises:
        PluginError: A marker asks for what there is not. The site is not built.
    """
    verdicts = {row["page"]: row["verdict"] for row in rows()}
    page.meta.setdefault("subtitle", verdicts.get(page.file.src_uri))  # shown in the navigation

    def written(marker):
        word, name = marker["word"], marker["name"]
        if word in ("since", "until", "on") and name:
            return releases.stated(word, name, OUTCOMES)
        if word in ("releases", "plot", "heat"):  # hooks of these names draw them
            return marker[0]
        made = {
            "cases": lambda: cases(page),
            "symptoms": lambda: symptoms(page),
            "statements": lambda: every_statement(page),
            "calls": lambda: every_call(page),
            "count": lambda: str(count(name)),
        } | {table: lambda table=table: parameters(table, page) for table in TABLES}
        return made[word]()

    try:
        markdown = calls.with_chips(MARKER.sub(written, with_chips(markdown, page)))
        # Where tabs do not stand side by side, readers see first what they came for.
        return re.sub('^=== (?="TF 2 tape")', "===+ ", markdown, flags=re.M)
    except KeyError as error:
        problem = f"nothing here is called {error}; hooks/markers.py lists what there is"
    except releases.StaleError as error:
        problem = str(error)
    raise PluginError(f"docs/{page.file.src_uri}: {problem}")
