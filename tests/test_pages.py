"""What pages say is shown by their examples, made from data, or compared with the source."""

import json
import os
import re
import xml.etree.ElementTree as ET
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from checks import DOCS, ROOT, SNIPPETS, relative
from checks.compare import TOKEN, same
from checks.snippets import load_examples, read
from pages import calls, claims, errors
from pages.page import Page
from pages.parameters import nine_parameters
from pages.statements import POLARITY, statements
from releases import data as releases

every_page = pytest.mark.parametrize("page", Page.every(), ids=lambda page: page.uri)
PARAMETERS = nine_parameters()
SYMPTOMS = json.loads((DOCS / "symptoms.json").read_text("utf-8"))


def example_named(name):
    """Return the example that pages embed as `name`."""
    return read(SNIPPETS / name)


@every_page
def test_page_holds_no_code(page):
    """Every embed exists, and neither code nor prose stands where no check reads it."""
    for name in page.names:
        assert (SNIPPETS / name).exists(), (
            f"docs/{page.uri} embeds {name}: create snippets/{name} or mend the name"
        )
    for block in page.blocks:
        assert block.info in ("console", "text", "cell"), (
            f"docs/{page.uri}:{block.line} is code, or an embed that is indented too far; move "
            f"code to snippets/ and embed it:\n{block.content}"
        )


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.ipynb")), ids=relative)
def test_notebook_is_kept_without_outputs(page):
    """What a notebook prints is made when the site is built, and never older than that."""
    for cell in json.loads(page.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs") and not cell.get("execution_count"), (
            f"{relative(page)} holds outputs; clear them: .nox/docs/bin/jupyter nbconvert "
            f"--clear-output --inplace {relative(page)}"
        )


@every_page
def test_prose_claims_what_an_example_shows(page):
    """Every number, exception and quoted message stands in an example beside it."""
    wrong = [
        f"docs/{page.uri}:{claim.line} says {claim.text}, which no example beside it or where it "
        + ("leads prints" if claim.result else "leads prints or writes")
        + ": embed the example that shows it, or correct the sentence"
        for claim in claims.unsupported_claims(page)
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@every_page
def test_prose_names_what_it_points_to(page):
    """Lines are named by what they say, and releases by the data, so that neither goes stale."""
    counted = r"\b(first|second|third|fourth|last|left|right)( \w+)? (lines?|columns?)\b"
    typed = r"\bTensorFlow (?!2\.21\b|1\.15\.5\b)\d\.\d+[.\d]*"
    for pattern, mend in ((counted, "name it by its label"), (typed, "write <!-- since … -->")):
        found = re.search(pattern, page.text, re.I)
        assert not found, f"docs/{page.uri} says “{found[0]}”: {mend}; CONTRIBUTING.md tells how"


def test_stated_ranges_are_those_of_the_data():
    """Every marker of a range names an example whose results tell it."""
    outcomes = releases.load_outcomes()
    for page in Page.every():
        for marker in page.markers:
            if marker.word in ("since", "until", "on"):
                try:
                    releases.stated(marker.word, marker.arguments, outcomes)
                except releases.StaleError as error:
                    pytest.fail(f"docs/{page.uri}:{marker.line}: {error}", pytrace=False)


@every_page
def test_range_is_of_an_example_nearby(page):
    """A release in a sentence is that of an example under its heading, or of one it links to."""
    for section in page.sections:
        for marker in (one for one in section.markers if one.word in ("since", "until", "on")):
            line = page.text.split("\n")[marker.line - 1]
            links = calls.LINK.findall(line if line.startswith("|") else section.text)
            near = [claims.section_at(page, href) for _, href in links if "://" not in href]
            names = [name for one in (section, *filter(None, near)) for name in one.names]
            assert marker.arguments in names, (
                f"docs/{page.uri}:{marker.line} names the releases of {marker.arguments}, which "
                "stands neither under that heading nor where the sentence links to"
            )


def test_verdict_fits_what_to_write():
    """What is renamed has another name to write, and what is the same has not."""
    for call in (call for page in Page.every() for call in calls.calls(page)):
        begins = re.match(r"`([\w.]+)", call.write)
        other = bool(begins) and begins[1] not in re.findall(r"[\w.]+", call.old)
        if call.verdict in ("same", "renamed"):
            assert other == (call.verdict == "renamed"), (
                f"docs/{call.page}: {call.old} is {call.verdict}, and to write is: {call.write}"
            )


SIDES = {
    "TF 1 graph": lambda shown: shown.graph,
    "TF 1 tfe": lambda shown: shown.old and "contrib" in shown.code,
    "TF 2 tape": lambda shown: not shown.graph and "GradientTape" in shown.code,
    "tf.gradients in tf.function": lambda shown: (
        not shown.graph and "tf.function" in shown.code and "gradients" in shown.code
    ),
}


@every_page
def test_tab_shows_what_its_label_says(page):
    """Old, new and tf.gradients kept, in this order: the labels tell which code is which."""
    for tabs in page.tabs:
        labels = [tab.label for tab in tabs]
        known = [label for label in SIDES if label in labels]
        assert len(labels) > 1 and labels == known, (
            f"docs/{page.uri}:{tabs[0].line} has the tabs {labels}; show two or more, in the order "
            f"of {', '.join(SIDES)}, and a single one without a tab"
        )
    for embed in page.embeds:
        assert not embed.tab or SIDES[embed.tab](example_named(embed.name)), (
            f"docs/{page.uri}:{embed.line} shows {embed.name} as {embed.tab}, which it is not; the "
            f"labels are {', '.join(SIDES)}"
        )


def installed(repository, release, path):
    """Return the file of a package that a citation names, or None if no wheel here holds it."""
    site = Path(find_spec(repository.lower()).origin).parent.parent
    if (repository, release) == ("tensorflow", "1.15.5"):
        if not (python := os.environ.get("TF1_PYTHON")):
            pytest.skip("No TensorFlow 1.15.5, whose lines are cited: see `nox -s snippets`.")
        [site] = Path(python).parent.parent.glob("lib/*/site-packages")
        path = path.replace("tensorflow/", "tensorflow_core/", 1)
    else:
        assert release == version(repository), (
            f"{repository} {version(repository)} is installed, and v{release} is cited: read "
            f"{path} at the new tag, and correct tag, line and title"
        )
    places = (site / path, site / path.split("/")[0] / "include" / path)
    return next((place for place in places if place.exists()), None)


@every_page
def test_citation_is_the_line_of_the_source(page):
    """A link to a line of source code has that line as its title."""
    tokens = (token for prose in page.prose for token in prose.tokens)
    for link in (token.attrs for token in tokens if token.type == "link_open"):
        cited = re.match(
            r"https://github.com/[\w-]+/(\w+)/blob/v([\d.]+)/(.+?)#L(\d+)", link["href"]
        )
        if not cited:
            continue
        if not (file := installed(*cited.groups()[:3])):
            listed = (DOCS / "evidence/method.md").read_text("utf-8")
            assert f"`{cited[3]}`" in listed, (
                f"docs/{page.uri} cites {cited[3]}, which no wheel holds: say so on the page "
                "on the method, or cite another file"
            )
            continue
        line = file.read_text("utf-8").splitlines()[int(cited[4]) - 1]
        line = " ".join(re.sub("[\"'`]", "\N{RIGHT SINGLE QUOTATION MARK}", line).split())
        assert link.get("title") == line, (
            f"docs/{page.uri} cites {link['href']} as “{link.get('title')}”; the line there is "
            f"“{line}”. If that is the line you mean, write it as the title of the link."
        )


def bare(text):
    """Return `text` without spaces and signs of multiplication: 2h is 2 * h."""
    return re.sub("[\\s*·\N{PRIME}]", "", text)


@every_page
def test_diagram_shows_what_the_examples_show(page):
    """Numbers, names and expressions in a diagram stand in an example under its heading."""
    for section in page.sections:
        for name in section.pictures:
            for label in ET.parse(DOCS / "assets" / name).iterfind(".//{*}text"):  # noqa: S314 - ours
                said = re.sub("^([a-z]+ )+(?=tf)", "", "".join(label.itertext()))
                expression = re.search(r"=.*[a-z]|\(.*,", said)
                for part in [said] if expression else said.split():
                    word = part.strip(" :,+=\N{MULTIPLICATION SIGN}")
                    number = re.fullmatch(claims.NUMBER, word)
                    assert (
                        not word
                        or re.fullmatch("[a-z]{4,}|a|by|of|per|sum|the", word)
                        or (
                            number
                            and claims.spelled_alike(word) in claims.spelled_alike(section.shown)
                        )
                        or (not number and bare(word) in bare(section.shown))
                    ), f"docs/assets/{name} shows {word}, no example under its heading does"


@every_page
def test_table_with_a_verdict_is_data(page):
    """Its rows stand in calls.json, in the list of all calls, and with chips on the page."""
    for table in page.tables:
        assert "verdict" not in table.head or table in calls.verdict_tables(page), (
            f"docs/{page.uri}:{table.line} has a column called verdict that is not the second, so "
            "pages/calls.py knows nothing of it"
        )


@pytest.mark.parametrize("row", PARAMETERS, ids=lambda row: row.parameter)
def test_verdict_of_a_parameter_is_what_its_examples_show(row):
    """The tape has the new name and refuses the old one; its numbers agree, or are lost."""
    has = example_named("tape/gradient/signature.md").output
    refuses = example_named("tape/gradient/raises_old_keywords.md").output
    kept = re.search(rf"^ +{row.parameter}\b", has, re.M)
    assert bool(kept) == (row.verdict == "same")
    assert bool(kept) != (f"unexpected keyword argument '{row.parameter}'" in refuses)
    assert bool(row.new) == (row.verdict in ("same", "renamed"))
    title = re.search(" is (gone|lost|the same)$", Page.read(DOCS / row.page).title)
    says = title[1].removeprefix("the ") if title else "now"
    known = row.verdict if row.verdict in ("gone", "lost", "same") else "now"
    assert says == known, f"the title of {row.page} says {says}, its row {row.verdict}"
    sides = [
        example_named(f"{row.page.removesuffix('.md')}/{side}.md").output
        for side in ("graph", "tape")
    ]
    old, new = (" ".join(f[0] for f in TOKEN.finditer(side) if f["float"]) for side in sides)
    assert old and same(old, new), f"{row.page}: {old} in the graph, {new} on the tape"


@pytest.mark.parametrize(
    "page", [p for p in DOCS.glob("cases/*.md") if p.stem != "index"], ids=relative
)
def test_case_gets_the_same_from_old_and_new_code(page):
    """Each line that both programs print holds the same numbers."""
    old, new = (
        dict(
            re.findall(
                "^([^:\n]+):(.*)$", example_named(f"cases/{page.stem}/{side}.md").output, re.M
            )
        )
        for side in ("graph", "tape")
    )
    assert old.keys() & new.keys(), f"{relative(page)}: old and new print no line of one name"
    for label in old.keys() & new.keys():
        assert same(old[label], new[label]), (
            f"{relative(page)}: {label} is {old[label]} in the graph, {new[label]} on the tape"
        )


ENTRIES = errors.every_entry()


@pytest.mark.parametrize(
    ("page", "entry"), ENTRIES, ids=[f"{page.uri}#{entry.anchor}" for page, entry in ENTRIES]
)
def test_error_is_printed_and_mended(page, entry):
    """The first example under a message prints it, another one works, and a page says more."""
    where = f"docs/{page.uri}#{entry.anchor}"
    assert entry.names, f"{where} has no example: embed the shortest one that prints the message"
    first, *others = entry.names
    printed = " ".join(example_named(first).output.split())
    for part in errors.message_of(entry):
        assert " ".join(part.split()) in printed, f"{where}: {first} does not print “{part}”"
    assert any(not re.search("/(raises|kills)_", name) for name in others), (
        f"{where} shows no code that works: embed it under the one that fails"
    )
    assert re.search(r"\]\(.+\.md", entry.text), f"{where} has no link to a page that says more"


def test_each_error_has_one_entry():
    """Every section of a page of errors is an entry, and no message has two."""
    for page in errors.error_pages():
        headings = [section.title for section in page.sections[1:]]
        assert headings == [entry.title for entry in errors.entries(page)], (
            f"docs/{page.uri}: a heading is not a message with a sentence under it; "
            "see pages/errors.py"
        )
        assert all(re.fullmatch("`[^`]+`|`` .+ ``", title) for title in headings), page.uri
    titles = [entry.title for _, entry in ENTRIES]
    assert len(titles) == len(set(titles)), {t for t in titles if titles.count(t) > 1}


@pytest.mark.parametrize("row", SYMPTOMS, ids=lambda row: row["see"][:40])
def test_symptom_is_printed_where_its_row_leads(row):
    """A reader who follows a message from the home page meets it again where it leads."""
    printed = example_named(row["example"]).output
    for message in re.findall(r"`([^`]* [^`]*|[A-Z_]{20,})`", row["see"]):
        assert message in printed, (
            f"docs/symptoms.json sends {row['see']} to {row['example']}, which does not print it"
        )


@every_page
def test_statement_is_decided_by_a_printed_line(page):
    """The lines that decide a statement are printed under its heading, and tell their side."""
    found = statements(page)
    for statement in found:
        lines = [" ".join(line.split()) for line in statement.section.printed.splitlines()]
        for marker in statement.lines:
            decided = [line for line in lines if marker.arguments in line]
            assert decided and all(POLARITY[marker.word].search(line) for line in decided), (
                f"docs/{page.uri}:{marker.line}: no example prints “{marker.arguments}”, or the "
                f"line does not show that the statement {marker.word}; see pages/statements.py"
            )
    headings = [s for s in page.sections if s.level == 3 and s.title.startswith("*")]
    listed = found or page.uri.startswith("evidence/statements/")
    assert not listed or headings == [statement.section for statement in found], (
        f"docs/{page.uri}: a statement has no verdict; name a printed line that decides it with "
        "<!-- holds: … --> or <!-- fails: … --> under its heading"
    )


def test_stated_release_is_the_one_that_ran():
    """The release that the README and the site name is the locked one."""
    lock = (ROOT / "requirements/snippets.txt").read_text("utf-8")
    locked = re.search(r"^tensorflow==(\S+)", lock, re.M)[1]
    for name in ("README.md", "mkdocs.yml", "docs/evidence/method.md"):
        assert f"TensorFlow {locked}" in (ROOT / name).read_text("utf-8"), (
            f"{name} does not name TensorFlow {locked}, which requirements/snippets.txt locks"
        )


@every_page
def test_row_has_a_cell_for_each_column(page):
    """Markdown fills up what is missing, and drops what is too much, without a word."""
    lines = page.text.splitlines()
    for table in page.tables:
        for row in table.rows:
            cells = len(re.findall(r"(?<!\\)\|", lines[row.line - 1])) - 1
            assert cells == len(table.head), (
                f"docs/{page.uri}:{row.line} has {cells} cells, its table {len(table.head)} columns"
            )


# Headings of a page's form, which say where something stands and not what it is.
FORM = {
    *("see also", "traps", "in public code", "every parameter", "by hand", "old and new"),
    *("what changes", "what changed and why", "what readers ask"),
    *("what breaks silently", "what goes wrong silently", "接下来"),
}
ALIKE = 100  # so many characters may not be printed by examples of two pages


def plain_heading(title):
    """Return a heading without its Markdown, its quotes and the exception's name."""
    text = re.sub(r"\]\([^)]*\)|[\[\]`*\"'“”\u2018\u2019…]", "", title).lower()
    return " ".join(re.sub(r"^\w+(?:error|exception|warning): ", "", text).split())


def repeated_headings():
    """Return the places of headings that stand twice, or say elsewhere what an error prints.

    The title of a page may stand as a heading on another one.
    """
    places = {}
    for page in Page.every():
        for section in page.sections[1:]:
            if (heading := plain_heading(section.title)) not in FORM:
                place = f"docs/{page.uri}:{section.line} {section.title}"
                places.setdefault(heading, []).append(place)
    found = {heading: where for heading, where in places.items() if len(where) > 1}
    for page, entry in ENTRIES:
        message = re.compile(
            ".*".join(re.escape(plain_heading(p)) for p in errors.message_of(entry))
        )
        for heading, where in places.items():
            if message.search(heading):
                outside = [place for place in where if not place.startswith("docs/errors/")]
                if outside:
                    found[heading] = [f"docs/{page.uri}#{entry.anchor}", *outside]
    return found


def repeated_outputs():
    """Return what examples of two pages print alike, for each group of examples."""
    places, groups = {}, {}
    for example in load_examples().values():
        text = " ".join(example.output.split())
        for start in range(len(text) - ALIKE + 1):
            places.setdefault(text[start : start + ALIKE], set()).add(example.name)
    for text, names in places.items():
        if len({name.rpartition("/")[0] for name in names}) > 1:
            groups.setdefault(frozenset(names), text)
    return {names: groups[names] for names in groups if not any(names < other for other in groups)}


def test_heading_stands_once():
    """A message has its home in errors/, and a trap on one page; others link to it."""
    found = ["\n  ".join(["", *where]) for where in repeated_headings().values()]
    if found:
        pytest.fail(
            "Keep one of these headings, and link to it from the other pages. Headings of a page's "
            f"form stand in FORM, in tests/test_pages.py.{''.join(found)}",
            pytrace=False,
        )


def test_examples_of_different_pages_print_different_things():
    """A page that needs what another one shows borrows its example, or links to it."""
    found = [f"\n{' '.join(sorted(names))}\n  {text}" for names, text in repeated_outputs().items()]
    if found:
        pytest.fail(
            f"Examples of different pages print the same {ALIKE} characters: borrow the other "
            f"page's example, link to it, or print less of the message.{''.join(found)}",
            pytrace=False,
        )
