"""Write into a page what it asks for by a comment.

`<!-- verdicts -->` and `<!-- parameters -->`: the nine parameters, in short and on a tape.
`<!-- verdict grad_ys -->`: the verdict of a parameter, in the words that the page's head gives as
`verdicts`; or the word itself, as in `<!-- verdict gone -->`.
`<!-- became -->`: the verdict of the parameter that its page is about, as the first word there.
`<!-- legend -->`: what the verdicts mean.
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
from pages import calls, claims, errors, parameters, statements
from pages.page import Page
from releases import data as releases
from website import verdicts

MARKER = re.compile(r"<!-- (?P<word>[a-z]+)(?: (?P<name>\S+))? -->")
CALLS, PARAMETERS = "old-api/calls.json", "parameters/parameters.json"
OUTCOMES, PAGES = {}, []


def on_files(files, config):
    """Offer the calls of all pages, and the parameters, as data, too.

    Raises:
        PluginError: A table of old calls is not whole. The site is not built.
    """
    try:
        data = {
            CALLS: [
                {"of": c.of, "old": c.old, "verdict": c.verdict, "write": c.write, "page": c.page}
                for c in calls.calls_by_key().values()
            ],
            PARAMETERS: [one._asdict() for one in parameters.nine_parameters()],
        }
    except ValueError as error:
        raise PluginError(str(error)) from None
    for path, found in data.items():
        content = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
        files.append(File.generated(config, path, content=content))


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


def listed(counts):
    """Write counts as a reader would: 3 gone, 1 lost."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


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

        source_page = Page.read(DOCS / shown.file.src_uri)
        if tables := calls.verdict_tables(source_page):
            title = shown.parent.title if shown.is_index else shown.title
            lines += ["", f"## [{title}]({link(shown.file.src_uri, page)})"]
            for table in tables:
                rows = source_page.text.split("\n")[table.line - 1 : table.rows[-1].line]
                text = "\n".join(rows)
                lines += ["", re.sub(r"\]\((?!https:)([^)#]*)(#[^)]*)?\)", leads, text)]
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
        "calls": lambda: len(calls.calls_by_key()),
        "errors": lambda: len(errors.every_entry()),
        "releases": lambda: len(releases.RELEASES),
        "verdicts": lambda: listed(Counter(one.verdict for one in parameters.nine_parameters())),
    }[name]()


def on_page_markdown(markdown, page, config, files):
    """Replace each marker on `page`.

    Raises:
        PluginError: A marker asks for what there is not. The site is not built.
    """
    nine = parameters.nine_parameters()
    fates = {one.page: one.verdict for one in nine}
    page.meta.setdefault("subtitle", fates.get(page.file.src_uri))  # shown in the navigation

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
            "legend": verdicts.verdict_legend,
            "verdicts": lambda: verdicts.parameters_in_short(nine, lambda path: link(path, page)),
            "parameters": lambda: verdicts.parameters_with_a_tape(
                nine, lambda path: link(path, page)
            ),
            "verdict": lambda: verdicts.parameter_chip(nine, name, page.meta.get("verdicts", {})),
            "became": lambda: verdicts.became(nine, page.file.src_uri),
        }
        return made[word]()

    try:
        markdown = MARKER.sub(written, with_chips(markdown, page))
        markdown = verdicts.with_verdict_chips(markdown, page.file.src_uri)
        # Where tabs do not stand side by side, readers see first what they came for.
        return re.sub('^=== (?="TF 2 tape")', "===+ ", markdown, flags=re.M)
    except KeyError as error:
        problem = f"nothing here is called {error}; hooks/markers.py lists what there is"
    except releases.StaleError as error:
        problem = str(error)
    raise PluginError(f"docs/{page.file.src_uri}: {problem}")
