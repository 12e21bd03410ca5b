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
from checks.snippets import EMBED, embeds, markdown, pages, read
from pages import calls, claims, errors
from pages.parameters import nine_parameters
from pages.statements import POLARITY, statements
from releases import data as releases

every_page = pytest.mark.parametrize("page", pages(), ids=relative)
PARAMETERS = nine_parameters()
SYMPTOMS = json.loads((DOCS / "symptoms.json").read_text("utf-8"))


def example(name):
    """Return the example that pages embed as `name`."""
    return read(SNIPPETS / name)


@every_page
def test_page_holds_no_code(page):
    """Every embed exists, and neither code nor prose stands where no check reads it."""
    for name in embeds(markdown(page)):
        assert (SNIPPETS / name).exists(), (
            f"{relative(page)} embeds {name}: create snippets/{name} or mend the name"
        )
    for token in claims.MARKDOWN.parse(claims.body(page)):
        shown = token.type == "fence" and token.info in ("console", "text", "cell")
        assert shown or token.type not in ("fence", "code_block"), (
            f"{relative(page)} holds code; move it to snippets/ and embed it:\n{token.content}"
        )


@pytest.mark.parametrize("page", [p for p in pages() if p.suffix == ".ipynb"], ids=relative)
def test_notebook_is_kept_without_outputs(page):
    """What a notebook prints is made when the site is built, and never older than that."""
    for cell in json.loads(page.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs") and not cell.get("execution_count"), (
            f"{relative(page)} holds outputs; clear them: .nox/docs/bin/jupyter nbconvert "
            f"--clear-output --inplace {relative(page)}"
        )


@every_page
def test_prose_claims_what_an_example_shows(page):
    """Every number, exception and quoted message stands in an example under its heading."""
    wrong = [
        f"{relative(page)}:{claim.line} says {claim.text}, which no example under the same heading "
        + ("prints" if claim.result else "prints or writes")
        + ": embed the example that shows it, or correct the sentence"
        for claim in claims.unsupported(page)
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@every_page
def test_prose_names_what_it_points_to(page):
    """Lines are named by what they say, and releases by the data, so that neither goes stale."""
    counted = r"\b(first|second|third|fourth|last|left|right)( \w+)? (lines?|columns?)\b"
    typed = r"\bTensorFlow (?!2\.21\b|1\.15\.5\b)\d\.\d+[.\d]*"
    for pattern, mend in ((counted, "name it by its label"), (typed, "write <!-- since … -->")):
        found = re.search(pattern, claims.body(page), re.I)
        assert not found, f"{relative(page)} says “{found[0]}”: {mend}; CONTRIBUTING.md tells how"


def test_stated_ranges_are_those_of_the_data():
    """Every marker of a range names an example whose results tell it."""
    outcomes = releases.load()
    for page in pages():
        for word, name in re.findall(r"<!-- (since|until|on) (\S+) -->", markdown(page)):
            try:
                releases.stated(word, name, outcomes)
            except releases.StaleError as error:
                pytest.fail(f"{relative(page)}: {error}", pytrace=False)


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
    sets = re.findall(r'(?:^=== ".+"\n\n(?: {4}.*\n|\n)+)+', markdown(page), re.M)
    for shown in sets:
        labels = re.findall('^=== "(.+)"$', shown, re.M)
        assert len(labels) > 1 and labels == sorted(labels, key=list(SIDES).index), (
            f"{relative(page)} has the tabs {labels}; show two or more, in the order of "
            f"{', '.join(SIDES)}, and a single one without a tab"
        )
    tabs = re.findall(r'^=== "(.+)"\n\n((?: {4}.*\n|\n)+)', markdown(page), re.M)
    for label, inside in tabs:
        for name in EMBED.findall(inside):
            assert label in SIDES and SIDES[label](example(name)), (
                f"{relative(page)} shows {name} as {label}, which it is not; the labels are "
                f"{', '.join(SIDES)}"
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
    links = [
        child.attrs
        for token in claims.MARKDOWN.parse(claims.body(page))
        for child in token.children or ()
        if child.type == "link_open"
    ]
    for link in links:
        cited = re.match(
            r"https://github.com/[\w-]+/(\w+)/blob/v([\d.]+)/(.+?)#L(\d+)", link["href"]
        )
        if not cited:
            continue
        if not (file := installed(*cited.groups()[:3])):
            listed = (DOCS / "evidence/method.md").read_text("utf-8")
            assert f"`{cited[3]}`" in listed, (
                f"{relative(page)} cites {cited[3]}, which no wheel holds: say so on the page "
                "on the method, or cite another file"
            )
            continue
        line = file.read_text("utf-8").splitlines()[int(cited[4]) - 1]
        line = " ".join(re.sub("[\"'`]", "\N{RIGHT SINGLE QUOTATION MARK}", line).split())
        assert link.get("title") == line, (
            f"{relative(page)} cites {link['href']} as “{link.get('title')}”; the line there is "
            f"“{line}”. If that is the line you mean, write it as the title of the link."
        )


def bare(text):
    """Return `text` without spaces and signs of multiplication: 2h is 2 * h."""
    return re.sub("[\\s*·\N{PRIME}]", "", text)


@every_page
def test_diagram_shows_what_the_examples_show(page):
    """Numbers, names and expressions in a diagram stand in an example under its heading."""
    for section in claims.sections(page):
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
                        or (number and claims.numbers(word) in claims.numbers(section.shown))
                        or (not number and bare(word) in bare(section.shown))
                    ), f"docs/assets/{name} shows {word}, no example under its heading does"


@every_page
def test_table_with_a_verdict_is_data(page):
    """Its rows stand in calls.json, in the list of all calls, and with chips on the page."""
    text = markdown(page)
    meant = re.findall(r"^\|[^|\n]+\| *verdict *\|.*\n\|[-|: ]+\|$", text, re.M)
    assert len(meant) == len(calls.tables(text)), (
        f"{relative(page)} has a table with a column called verdict, of which pages/calls.py "
        "knows nothing: write it like the others, the verdict second"
    )
    assert len(calls.calls(text)) == sum(t.count("\n") - 1 for t in calls.tables(text))


@pytest.mark.parametrize("row", PARAMETERS, ids=lambda row: row.parameter)
def test_verdict_of_a_parameter_is_what_its_examples_show(row):
    """The tape has the new name and refuses the old one; its numbers agree, or are lost."""
    has = example("tape/gradient/signature.md").output
    refuses = example("tape/gradient/raises_old_keywords.md").output
    kept = re.search(rf"^ +{row.parameter}\b", has, re.M)
    assert bool(kept) == (row.verdict == "same")
    assert bool(kept) != (f"unexpected keyword argument '{row.parameter}'" in refuses)
    assert bool(row.new) == (row.verdict in ("same", "renamed"))
    title = re.search("^# .* is (gone|lost|the same)$", markdown(DOCS / row.page), re.M)
    says = title[1].removeprefix("the ") if title else "now"
    known = row.verdict if row.verdict in ("gone", "lost", "same") else "now"
    assert says == known, f"the title of {row.page} says {says}, its row {row.verdict}"
    sides = [
        example(f"{row.page.removesuffix('.md')}/{side}.md").output for side in ("graph", "tape")
    ]
    old, new = (" ".join(f[0] for f in TOKEN.finditer(side) if f["float"]) for side in sides)
    assert old and same(old, new), f"{row.page}: {old} in the graph, {new} on the tape"


@pytest.mark.parametrize(
    "page", [p for p in DOCS.glob("cases/*.md") if p.stem != "index"], ids=relative
)
def test_case_gets_the_same_from_old_and_new_code(page):
    """Each line that both programs print holds the same numbers."""
    old, new = (
        dict(re.findall("^([^:\n]+):(.*)$", example(f"cases/{page.stem}/{side}.md").output, re.M))
        for side in ("graph", "tape")
    )
    assert old.keys() & new.keys(), f"{relative(page)}: old and new print no line of one name"
    for label in old.keys() & new.keys():
        assert same(old[label], new[label]), (
            f"{relative(page)}: {label} is {old[label]} in the graph, {new[label]} on the tape"
        )


ENTRIES = errors.every()


@pytest.mark.parametrize(
    ("page", "entry"), ENTRIES, ids=[f"{page.stem}#{entry.anchor}" for page, entry in ENTRIES]
)
def test_error_is_printed_and_mended(page, entry):
    """The first example under a message prints it, another one works, and a page says more."""
    where = f"{relative(page)}#{entry.anchor}"
    assert entry.names, f"{where} has no example: embed the shortest one that prints the message"
    first, *others = entry.names
    printed = " ".join(example(first).output.split())
    for part in entry.message:
        assert " ".join(part.split()) in printed, f"{where}: {first} does not print “{part}”"
    assert any(not re.search("/(raises|kills)_", name) for name in others), (
        f"{where} shows no code that works: embed it under the one that fails"
    )
    assert re.search(r"\]\(.+\.md", entry.text), f"{where} has no link to a page that says more"


def test_each_error_has_one_entry():
    """Every section of a page of errors is an entry, and no message has two."""
    for page in errors.pages():
        headings = re.findall(r"^##+ (.+)", markdown(page), re.M)
        assert headings == [entry.title for entry in errors.entries(page)], (
            f"{relative(page)}: a heading is not a message with a sentence under it; "
            "see pages/errors.py"
        )
        assert all(re.fullmatch("`[^`]+`|`` .+ ``", title) for title in headings), relative(page)
    titles = [entry.title for _, entry in ENTRIES]
    assert len(titles) == len(set(titles)), {t for t in titles if titles.count(t) > 1}


@pytest.mark.parametrize("row", SYMPTOMS, ids=lambda row: row["see"][:40])
def test_symptom_is_printed_where_its_row_leads(row):
    """A reader who follows a message from the home page meets it again where it leads."""
    message = re.match(r"`([^`]* [^`]*)`", row["see"])
    assert not message or message[1] in example(row["example"]).output, (
        f"docs/symptoms.json sends {row['see']} to {row['example']}, which does not print it"
    )


@every_page
def test_statement_is_decided_by_a_printed_line(page):
    """The lines that decide a statement are printed under its heading, and tell their side."""
    for statement in statements(markdown(page)):
        [section] = [s for s in claims.sections(page) if f"#{s.anchor}" == statement.anchor]
        lines = [" ".join(line.split()) for line in section.printed.splitlines()]
        for word, text in statement.lines:
            found = [line for line in lines if text in line]
            assert found and all(POLARITY[word].search(line) for line in found), (
                f"{relative(page)}{statement.anchor}: no example prints “{text}”, or the line does "
                f"not show that the statement {word}; see pages/statements.py"
            )
    headings = re.findall(r"^### \*.*\{#.*", markdown(page), re.M)
    assert len(headings) == len(statements(markdown(page))), (
        f"{relative(page)}: a statement has no verdict; name a printed line that decides it with "
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
