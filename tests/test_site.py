"""The built site as a reader's browser sees it."""

import functools
import html
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from playwright.sync_api import expect

from checks import DOCS, SNIPPETS, relative
from checks.snippets import files as snippet_files
from checks.snippets import read
from pages.errors import error_pages
from pages.page import Page
from releases.data import RELEASES, load_outcomes, minor
from tests.built import SITE, address_built
from tests.visits import assert_accessible

UNFOLD = "document.querySelectorAll('details').forEach((folded) => (folded.open = true))"
# What a page says, without its code.
TEXT = """() => {
  const said = document.querySelector("article").cloneNode(true);
  said.querySelectorAll("pre, code").forEach((code) => code.remove());
  return said.textContent;
}"""
# How high each listing in sight is said to be, and how high it is.
HEIGHTS = """() => [...document.querySelectorAll(".language-python")]
  .filter((listing) => listing.offsetParent)
  .map((listing) => ["hidden", "visible"].map((visibility) => {
    listing.style.contentVisibility = visibility;
    return listing.getBoundingClientRect().height;
  }))"""
# The rows of tabs and the listings of which a part is behind a scroll bar that no key reaches.
HIDDEN_PARTS = """found => found
    .filter((one) => one.scrollWidth > one.clientWidth && one.tabIndex < 0)
    .map((one) => one.textContent)"""
# The names in headings, tables and text of which a part without a joint stands on two lines.
CUT_WORDS = """() => [
  ...document.querySelectorAll(":is(h1, h2, h3, td, p > code, li > code)"),
].flatMap((text) => {
  const found = [];
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const { 0: word, index } of node.data.matchAll(/\\w+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (range.getClientRects().length > 1) found.push(word);
    }
  }
  return found;
})"""
# What the cells say that are wider than a phone, hidden, or of an unnamed column.
WRONG_CELLS = """() => [...document.querySelectorAll("table:not([class]) td")].filter((cell) => {
  const { x, right, width } = cell.getBoundingClientRect();
  return !width || x < 0 || right > 390 || !cell.dataset.label;
}).map((cell) => cell.innerText)"""
NOTEBOOKS = [page for page in Page.files() if page.suffix == ".ipynb"]


@functools.cache
def anchors_in(file):
    """Return the anchors in a file of the site."""
    return frozenset(re.findall('id="(.*?)"', file.read_text("utf-8")))


def links_within(page, base_url):
    """Return where a page leads within the site, as addresses below that of the site."""
    links = page.eval_on_selector_all("a[href]", "links => links.map(a => a.href)")
    return {link.removeprefix(f"{base_url}/") for link in links if link.startswith(base_url)}


def leads_somewhere(link, folder):
    """Tell whether there is such a page, and such an anchor in it."""
    found, anchor = urldefrag(unquote(link))
    file = folder / found
    file = file / "index.html" if file.is_dir() else file
    return file.is_file() and (not anchor or anchor in anchors_in(file))


def lay_out_matrix(page):
    """Bring what a click unfolded near: else the browser shows axe no colours of the matrix."""
    note = page.locator(".matrix .note")
    if note.count():
        note.scroll_into_view_if_needed()


@pytest.mark.parametrize("source", Page.files(), ids=relative)
def test_page_keeps_its_promises(source, visit, base_url, folder, subtests):
    """One visit: links, embeds, a phone's width, and access for all in the light and the dark."""
    page, shown = visit.page, Page.read(source)
    page.goto(f"{base_url}/{address_built(source)}")
    page.evaluate("document.fonts.ready.then(() => {})")  # else widths would change
    page.evaluate(UNFOLD)

    with subtests.test("every link within the site leads to a file, and to an anchor in it"):
        inside = links_within(page, base_url)
        assert len(inside) > len(Page.files())
        assert [link for link in inside if not leads_somewhere(link, folder)] == []

    with subtests.test("no two things have the same anchor, and each example has one"):
        ids = page.eval_on_selector_all("[id]", "found => found.map(e => e.id)")
        assert len(ids) == len(set(ids))
        assert page.locator("div.language-python[id]").count() == len(shown.names)

    with subtests.test("as many outputs as embedded examples: no indent hid one"):
        outputs = page.locator(".language-output").count()
        if source.suffix == ".ipynb":
            assert outputs > 0
        else:
            assert outputs == len(shown.embeds)
            assert page.locator(".replayed").count() == bool(shown.embeds)

    with subtests.test("no Markdown is left over, as of a link whose title holds a quote"):
        assert page.evaluate(TEXT).count('")') == 0

    with subtests.test("the page does not move when a listing comes near and is laid out"):
        for expected, height in page.evaluate(HEIGHTS):
            assert expected == pytest.approx(height, abs=1)

    if page.locator(".matrix").count():
        page.locator(".matrix td.not-available a").first.click()
        page.locator(".matrix .note").wait_for()

    with subtests.test("accessible in the light, with all unfolded, and all tabs shown"):
        lay_out_matrix(page)
        page.add_style_tag(content=".tabbed-block { display: block !important; }")
        assert_accessible(page)

    page.set_viewport_size({"width": 390, "height": 844})
    with subtests.test("nothing but code and tables, which scroll, is wider than a phone"):
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.eval_on_selector_all(".tabbed-labels, pre code", HIDDEN_PARTS) == []

    with subtests.test("tables are cards there: no cell is cut off, and each says its column"):
        assert page.evaluate(WRONG_CELLS) == []

    with subtests.test("no name breaks at random there"):
        assert page.evaluate(CUT_WORDS) == []

    page.set_viewport_size({"width": 1280, "height": 720})
    with subtests.test("the colours are accessible in the dark, too"):
        page.emulate_media(color_scheme="dark")  # the theme follows the system, as at first
        expect(page.locator("body[data-md-color-scheme=slate]")).to_be_attached()
        lay_out_matrix(page)
        assert_accessible(page, colours_alone=True)

    with subtests.test("no request to another host, and an empty console"):
        page.wait_for_load_state("networkidle")
        outside = [u for u in visit.requests if not u.startswith((base_url, "data:", "blob:"))]
        assert not outside
        assert not visit.complaints


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_a_light_page_and_a_file_to_take_away(path, page, base_url, folder):
    """It weighs at most what the heaviest other page does, and is offered for download."""
    address = str(path.relative_to(DOCS).with_suffix(""))
    weights = {p: p.stat().st_size for p in folder.glob("**/index.html")}
    own = weights.pop(folder / address / "index.html")
    assert own <= max(weights.values())
    page.goto(f"{base_url}/{address}/", wait_until="networkidle")
    link = page.locator(".take-along a", has_text="notebook")
    assert (folder / address / link.get_attribute("href")).read_text("utf-8") == path.read_text(
        "utf-8"
    )


def test_cell_of_the_matrix_unfolds_what_differs(page, base_url):
    """A click on a cell that says differs shows what that release printed, below its row."""
    page.goto(f"{base_url}/evidence/releases/", wait_until="networkidle")
    cell = page.locator(".matrix td.differs a").first
    assert not cell.is_visible()
    page.locator("details:has(.matrix td.differs) > summary").first.click()
    row = page.locator(cell.get_attribute("href"))
    note = row.locator("+ .note")
    assert not note.count()
    cell.click()
    note.locator("pre").first.wait_for()
    assert page.evaluate("document.activeElement.closest('.note') !== null")
    page.reload(wait_until="networkidle")
    expect(note).to_be_visible()  # the address opens the page's rows, too


@pytest.mark.parametrize("release", [RELEASES[0], "2.9.3", RELEASES[-1]])
def test_choosing_a_release_shows_what_differs_there(page, base_url, release):
    """As many examples as in the data, the address remembers the choice, and links lead to them."""
    kinds = [
        kind
        for (name, r), (kind, _) in load_outcomes().items()
        # An example for TensorFlow 1 says itself that it needs it.
        if r == release and (release.startswith("1.") or not name.endswith(".tf1.md"))
    ]
    expected = len(kinds) - kinds.count("same")
    page.goto(f"{base_url}/evidence/releases/", wait_until="networkidle")
    page.get_by_label("My release is TensorFlow").select_option(minor(release))
    shown = page.locator("#differences > div p")
    summary = page.locator("[role=status]:not(:empty)")
    summary.wait_for()
    assert shown.count() == expected
    text = re.sub(r"TensorFlow [\d.]+", "", summary.inner_text())
    said = [int(number) for number in re.findall(r"\d+", text)]
    total = len(snippet_files())
    assert said[:3] == [kinds.count("differs"), total, kinds.count("not available")]
    assert said[-1] == kinds.count("same")
    assert sum(said) == 2 * total
    assert page.url.endswith(f"#{minor(release)}")
    page.reload(wait_until="networkidle")
    summary.wait_for()
    assert shown.count() == expected
    if expected:
        assert not shown.first.is_visible()  # folded by page: there are hundreds
        page.locator("#differences summary").first.click()
        shown.locator("a").first.click()
        page.locator(".language-python:target").wait_for()


def test_link_to_an_example_turns_to_its_tab(page, base_url):
    """On a phone the tape's tab is open; a link to the graph's example opens the other."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/parameters/grad_ys/#grad_ys-graph", wait_until="networkidle")
    assert page.locator("#grad_ys-graph").is_visible()


def test_link_lands_on_its_heading_below_tables(page, base_url):
    """What is laid out only when it is near does not move the heading away, on a phone neither."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/old-api/#adamw-berts-optimizer-lars", wait_until="networkidle")
    expect(page.locator("#adamw-berts-optimizer-lars")).to_be_in_viewport()


def test_filter_shows_the_statements_with_a_verdict(page, base_url):
    """By keyboard; at first and without script, all are shown."""
    page.goto(f"{base_url}/evidence/statements/", wait_until="networkidle")
    rows, verdicts = page.locator("tbody tr:visible"), ("true but", "true", "false")
    found = {v: rows.get_by_text(v, exact=True).count() for v in verdicts}
    assert rows.count() == sum(found.values()) == len(page.locator("tbody tr").all())
    page.locator("[name=verdict]").first.focus()
    for verdict in verdicts:
        page.keyboard.press("ArrowRight")
        assert page.locator("[name=verdict]:checked").get_attribute("value") in verdict
        assert rows.count() == found[verdict] > 0
        assert set(rows.locator(".verdict").all_text_contents()) == {verdict}


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_tape_is_on_the_first_screen(page, base_url, width):
    """A wide screen shows old and new side by side, another one the tape alone."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    blocks = page.locator(".tabbed-block")
    old, new, third = (blocks.nth(place) for place in range(3))
    assert "GradientTape" in new.inner_text()
    assert new.bounding_box()["y"] < 700
    assert old.is_visible() == (width == 1440)
    assert not third.is_visible()
    page.locator(".tabbed-labels label", has_text="tf.gradients in tf.function").first.click()
    assert third.is_visible()
    assert old.is_visible() == (width == 1440)
    assert not new.is_visible()


def test_most_examples_fit_a_phone(page, base_url):
    """Lines of 57 columns stand on a phone without scrolling, and most examples have no longer."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/parameters/stop_gradients/", wait_until="networkidle")
    for code in page.locator(".language-python:visible code").all():
        longest = max(map(len, code.text_content().splitlines()))
        assert longest > 57 or code.evaluate("code => code.scrollWidth <= code.clientWidth")
    widths = [max(map(len, read(path).code.splitlines())) for path in snippet_files()]
    assert sum(width <= 57 for width in widths) >= 0.6 * len(widths)


def test_tabs_switch_together_and_stay(page, base_url):
    """A reader who picks a side once sees it everywhere, on the next page too."""
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    page.locator(".tabbed-labels label", has_text="TF 1 graph").first.click()
    page.wait_for_timeout(300)
    for url in (page.url, f"{base_url}/start/migrate/"):
        page.goto(url, wait_until="networkidle")
        sets = page.locator(".tabbed-set", has=page.get_by_text("TF 1 graph", exact=True))
        assert sets.count() > 1
        for chosen in sets.all():
            assert chosen.locator("> input").first.is_checked(), url


def test_copy_button_copies_the_code(page, base_url):
    """What lands on the clipboard is the example's code, without its output."""
    page.goto(base_url, wait_until="networkidle")
    # The theme, too, gives a button to each listing of which it asks the size.
    listings = page.locator(".language-python")
    assert page.locator(".md-code__button").count() == listings.count()
    code = page.locator(".language-python:visible").first
    code.hover()
    code.locator("button").first.click()
    page.wait_for_timeout(300)
    copied = page.evaluate("navigator.clipboard.readText()").strip()
    assert copied == read(SNIPPETS / "index/tape.md").code.strip()


def test_chinese_page_tells_its_language_and_says_what_others_say(page, base_url):
    """Its verdicts are those of the home page, and its messages stand where its rows lead."""
    script = """rows => rows.map(row => [
      row.querySelector("code").textContent,
      row.querySelector(".verdict")?.className ?? "",
      row.querySelector("a").href,
    ])"""
    rows = ".md-typeset tr:has(td):has(a):has(td:first-child code)"
    page.goto(base_url, wait_until="networkidle")
    home = page.locator(rows).evaluate_all(script)
    page.goto(f"{base_url}/zh/", wait_until="networkidle")
    assert page.locator("html").get_attribute("lang") == "zh"
    chinese = page.locator(rows).evaluate_all(script)
    assert [row[:2] for row in home if row[1]] == [row[:2] for row in chinese if row[1]]
    messages = [(row[0], row[2]) for row in chinese if not row[1]]
    assert len(messages) > 9
    for message, link in messages:
        shown = html.unescape(re.sub("<[^>]*>", "", page.request.get(link).text()))
        assert message in shown, f"docs/zh.md leads from {message} to {link}"


def test_chinese_pages_and_english_ones_name_each_other(folder):
    """Both say so to other sites, and what stands around the text is in its language, too."""
    chinese = [page for page in Page.every() if page.front.get("lang") == "zh"]
    assert len(chinese) > 6
    for page in chinese:
        other = DOCS / page.front["english"]
        pair = {"en": address_built(other), "zh": address_built(page.file)}
        for address in pair.values():
            html = (folder / address / "index.html").read_text("utf-8")
            for lang, wanted in pair.items():
                link = f'<link rel="alternate " hreflang="{lang}" href="{SITE}{wanted}">'
                assert html.count(link) == 1, (address, lang)
        for words in ("Take along", "Same on TensorFlow", ">Home<", ">notebook<"):
            assert words not in html.partition('class="md-path"')[2], page.uri


def test_lines_that_change_are_marked(page, base_url):
    """Of the pair on the home page: the import and the tape, and no line that both have."""
    page.goto(base_url, wait_until="networkidle")
    old, new, _ = (
        page.locator(".tabbed-block").nth(place).locator("code").first for place in range(3)
    )
    marked = [new.locator(".hll").nth(place).text_content() for place in range(2)]
    assert marked[0] == "import tensorflow as tf\n"
    assert marked[1].startswith("with tf.GradientTape() as tape:")
    for line in old.locator(".hll").all():
        assert line.text_content().strip() not in new.text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_that_go_and_come_are_told_by_sign_and_tint(scheme, new_context, base_url):
    """In the dark, both tints are lighter than the ground, so that no line looks like a hole."""
    page = new_context(color_scheme=scheme, viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    blocks, lights, tints = page.locator(".tabbed-block"), [], set()
    for place, sign in enumerate(("\N{MINUS SIGN}", "+")):
        line = blocks.nth(place).locator(".hll").first
        assert sign in line.evaluate("line => getComputedStyle(line, '::before').content")
        for part in (line, blocks.nth(place).locator("code").first):
            colour = part.evaluate("part => getComputedStyle(part).backgroundColor")
            red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
            lights.append(0.21 * red + 0.72 * green + 0.07 * blue)
            tints.add(colour)
    assert len(tints) == 3
    if scheme == "dark":
        assert lights[0] > lights[1]
        assert lights[2] > lights[3]


def test_what_works_stands_above_what_fails(page, base_url):
    """Each listing of an error says by a word whether it is to be copied, in the twin, too."""
    page.goto(f"{base_url}/errors/tape/", wait_until="networkidle")
    said = page.locator("p:has(> :is(.works, .fails, .shows)) + .language-python")
    assert said.count() > 20
    first = page.locator("h2 ~ p:has(> .works)").first
    assert "raises_" not in first.inner_text()
    shown = Page.read(DOCS / "errors/tape.md")
    fails = sum(embed.name.split("/")[-1].startswith("raises_") for embed in shown.embeds)
    assert page.locator(".fails").count() == fails
    twin = page.request.get(f"{base_url}/errors/tape/index.md").text()
    assert twin.count("**Fails**") == fails
    assert twin.index("**Works**") < twin.index("**Fails**")


def test_error_that_fails_says_what_works(folder):
    """Each entry has a listing to copy, in the twin, too; `neither` names listings of the page."""
    for page in error_pages():
        twin = (folder / address_built(page.file) / "index.md").read_text("utf-8")
        entries = re.split("^## ", twin, flags=re.M)
        failing = [one for one in entries if "**Fails**" in one]
        assert not [one.splitlines()[0] for one in failing if "**Works**" not in one], page.uri
        assert {*page.front.get("neither", ())} <= {Path(name).stem for name in page.names}


GROUPS = ["errors", "old-api", *(f"topics/{path.name}" for path in DOCS.glob("topics/*"))]


@pytest.mark.parametrize("group", GROUPS)
def test_page_of_a_group_leads_to_each_of_its_pages(group, page, base_url):
    """A click on a group of the navigation opens a page that has all that the group holds."""
    page.goto(f"{base_url}/{group}/", wait_until="networkidle")
    script = "links => links.map((link) => link.href.split('#')[0])"
    opened = page.locator(".md-nav__item--section, .md-nav__item--active").first
    listed = set(page.locator("article :is(li, p) > a").evaluate_all(script))
    held = set(opened.locator("> nav > ul > li > a.md-nav__link").evaluate_all(script))
    assert held - {page.url}
    assert held - {page.url} <= listed


def test_groups_of_the_navigation_have_names(page, base_url):
    """What opens a group is reached by keys, and says what it opens; on a phone, too."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/how-to/clip-gradients/", wait_until="networkidle")
    groups = page.locator(".md-nav__container")
    for group in groups.all():
        name = group.locator("a").text_content().strip()
        assert group.locator("label [role=img]").get_attribute("aria-label") == name
    assert groups.count() > 10
    assert_accessible(page)


def test_title_in_the_bar_has_one_line(page, base_url):
    """A long name in it is cut, and not broken: its second line would cover the page."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_url}/old-api/custom-gradients/#straight-through-rounding")
    title = page.locator(".md-header__topic .md-ellipsis").last
    line = "title => parseFloat(getComputedStyle(title).lineHeight)"
    expect(title).to_have_text(re.compile("gradient_override_map"))
    assert title.evaluate("title => title.scrollHeight") < 1.5 * title.evaluate(line)


def test_index_of_the_search_comes_after_the_page(page, base_url):
    """It is larger than a page, which is there before it is asked for."""
    page.goto(f"{base_url}/how-to/none/", wait_until="networkidle")
    asked, loaded = page.evaluate("""[
      performance.getEntriesByType("resource").find((one) => /search_index/.test(one.name))
        .startTime,
      performance.getEntriesByType("navigation")[0].loadEventStart,
    ]""")
    assert asked >= loaded


def test_verdict_stands_beside_its_parameter(page, base_url):
    """The navigation tells what became of a parameter, as its page does."""
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    for name, verdict in (("grad_ys", "renamed"), ("gate_gradients", "gone")):
        entry = page.locator(".md-nav--primary a.md-nav__link", has_text=name)
        assert entry.locator("small").inner_text() == verdict
