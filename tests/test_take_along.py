"""What readers and programs take along: Markdown, notebooks and the whole site as one archive."""

import html
import json
import re
import zipfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import urljoin

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import expect

from checks import DOCS, relative
from checks.compare import same
from checks.snippets import load_examples
from pages.calls import VERDICTS
from pages.page import MARKDOWN, Page
from pages.parameters import nine_parameters
from tests.built import SITE, address_built
from website.notebooks import executed

WITH_EXAMPLES = [p.file for p in Page.every() if p.names and not p.uri.startswith("errors/")]
LINK = re.compile(r"\]\(([^)\s#]+)")
# Of a page, what stands there for those who see it, and formulas, which are LaTeX in its twin.
SEEN = re.compile(
    r'<p class="take-along">.*?</p>|<a class="headerlink".*?</a>|<div class="md-source-file">.*'
    r'|<nav class="md-(?:code__nav|tags)".*?</nav>|<a [^>]*class="md-content__button.*?</a>'
    r"|<(math|svg|script|style|figure|fieldset|noscript)\b.*?</\1>"
    r'|<details [^>]*data-search-exclude>.*?</details>|<p class="replayed"[^>]*>✓.*?</p>'
    r'|<p class="choice">.*?</p>|<p>Nothing differs on .*?</p>',
    re.S,
)
WITHIN_WORDS = re.compile(r"<wbr>|</?(?:code|a|em|strong|span|abbr)\b.*?>")


def markdown_beside(source, folder):
    """Return the Markdown beside a page of the site in `folder`."""
    return Path(folder, address_built(source), "index.md").read_text("utf-8")


def notebook_of(source, folder):
    """Return the notebook of a page's examples."""
    file = Path(folder, address_built(source), source.stem).with_suffix(".ipynb")
    return nbformat.read(file, nbformat.NO_CONVERT)


def cells_with_outputs(notebook):
    """Yield each code cell with what the Markdown under it says that it prints."""
    for cell, below in zip(notebook.cells, notebook.cells[1:], strict=False):
        if cell.cell_type == "code":
            yield cell, below.source.removeprefix("prints\n\n```text\n").removesuffix("\n```")


def names_a_file(link, base, folder):
    """Tell whether a link from a file in the folder `base` leads to a file of the site."""
    below = link.removeprefix(SITE)
    file = Path(base if below == link else folder, below)
    return "://" in below or (file / "index.html" if file.is_dir() else file).is_file()


@pytest.mark.parametrize("source", Page.files(), ids=relative)
def test_page_as_markdown_is_whole_and_plain(source, folder):
    """Every example stands in it, nothing that only this site understands, and links work."""
    text, base = markdown_beside(source, folder), Path(folder, address_built(source))
    shown = Page.read(source)
    wanted = len(shown.embeds) or len([block for block in shown.blocks if block.info == "cell"])
    assert text.count("```python\n") == wanted
    prose = re.sub(r"^ *```.*?^ *```$|`[^`\n]+`", "", text, flags=re.M | re.S)
    assert not re.findall(r"--8<--|<!--|</?[a-z]+[ >]|^[=?!]{3} |^---$|\{[#:]", prose, re.M)
    assert text.startswith("# ")
    assert not [link for link in LINK.findall(prose) if not names_a_file(link, base, folder)]
    html = (base / "index.html").read_text("utf-8")
    assert re.search(r'<link rel="alternate ?" type="text/markdown" href="\S*index.md">', html)
    assert text in (folder / "llms-full.txt").read_text("utf-8")


def test_assistant_gets_all_in_a_few_words(folder):
    """Commands, verdicts, parameters, silent changes, each with a file that is there."""
    text = (folder / "llms-port.txt").read_text("utf-8")
    assert len(text.split()) <= 1500
    silent = [row["see"] for row in json.loads((DOCS / "symptoms.json").read_text("utf-8"))]
    for word in (*silent, *VERDICTS, *(f"`{one.parameter}`" for one in nine_parameters())):
        assert f"- {word}: " in text
    assert text.count("](") == 0
    addresses = re.findall(rf"{re.escape(SITE)}([\w/.-]+\w)", text)
    assert len(addresses) > len(silent)
    for address in addresses:
        assert (folder / address).exists(), address
    page = markdown_beside(DOCS / "start/with-an-assistant.md", folder)
    assert text in page


def test_topics_are_texts_that_a_program_takes(folder):
    """llms.txt lists them; they hold every page, and none is too long."""
    listed = (folder / "llms.txt").read_text("utf-8")
    texts = {path.name: path.read_text("utf-8") for path in folder.glob("llms/*.txt")}
    assert len(texts) > 20
    assert all(f"llms/{name})" in listed for name in texts)
    assert max(len(text.encode()) for text in texts.values()) <= 100_000
    every = "".join(texts.values())
    for page in Page.every():
        if page.uri.endswith(".md"):
            assert f"# {page.sections[0].title}\n" in every, page.uri


def test_llms_txt_lists_every_page(folder):
    """A title, what the site is, and each page once, described, under its part."""
    text = (folder / "llms.txt").read_text("utf-8")
    title, about, *parts = text.split("\n\n")
    assert title.startswith("# ")
    assert about.startswith("> ")
    assert parts[0].startswith("## ")
    linked = LINK.findall(text)
    listed = [link for link in linked if link.endswith("/index.md")]
    assert sorted(listed) == sorted(f"{SITE}{address_built(page)}index.md" for page in Page.files())
    assert len(linked) > len(listed)  # the data, too
    assert all(names_a_file(link, folder, folder) for link in linked)


@pytest.mark.parametrize("source", WITH_EXAMPLES, ids=relative)
def test_notebook_holds_the_examples_and_what_they_print(source, folder):
    """They ran one after the other in one process, as a reader runs them: the runner does so."""
    notebook, examples = notebook_of(source, folder), load_examples()
    nbformat.validate(notebook)
    shown = "\n".join(cell.source for cell in notebook.cells)
    embedded = [examples[name] for name in Page.read(source).names]
    cells = [(cell.source, says) for cell, says in cells_with_outputs(notebook)]
    assert cells == [(e.code.rstrip(), e.output.rstrip()) for e in embedded if not e.alone]
    assert all(e.code.rstrip() in shown and e.output.rstrip() in shown for e in embedded)


def test_notebook_runs_in_jupyter(folder):
    """One of them, since a kernel takes longer than all its cells."""
    source = next(page for page in WITH_EXAMPLES if page.stem == "grad_ys")
    notebook = NotebookClient(notebook_of(source, folder), kernel_name="python3").execute()
    for cell, says in cells_with_outputs(notebook):
        outputs = "".join(out.text for out in cell.outputs if out.get("name") == "stdout")
        assert same(says, outputs)


def test_notebook_is_offered_on_its_page(page, base_url, folder):
    """For download, and in Colab from the branch that the notebooks are published to."""
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    link = page.locator(".take-along a", has_text="notebook")
    assert (folder / "parameters/grad_ys" / link.get_attribute("href")).is_file()
    colab = page.locator("a", has_text="Colab").get_attribute("href")
    assert colab.endswith("/blob/notebooks/parameters/grad_ys/grad_ys.ipynb")


@pytest.fixture(scope="session")
def unpacked(folder, tmp_path_factory):
    """Unpack the archive that the site offers, and return the folder in it."""
    [archive] = folder.glob("*.zip")
    place = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(archive).extractall(place)
    return place / archive.stem


def test_twins_are_whole_markdown(folder):
    """No twin has a tag, an entity, or a mark of emphasis that closes nowhere, outside its code."""
    twins = [*folder.rglob("index.md")]
    assert len(twins) > 90
    for twin in twins:
        text = twin.read_text("utf-8")
        parts = [one for token in MARKDOWN.parse(text) for one in token.children or [token]]
        kinds = {one.type for one in parts}
        assert not kinds & {"html_block", "html_inline"}, twin
        said = " ".join(one.content for one in parts if one.type == "text")
        assert not re.search(r"\S\*\*|\*\*\S|&#?\w+;|\{[:#]", said), twin


class Content(NamedTuple):
    """What a page or its twin holds: listings and headings without spaces, links, words."""

    code: list[str]
    headings: list[str]
    links: Counter
    words: Counter


def content_of(code, headings, links, text):
    """Return what a page or its twin holds; a page and its twin are one address."""
    bare = [["".join(one.split()) for one in part] for part in (code, headings)]
    files = (re.sub(r"index\.(md|html)", "", link) for link in links)
    return Content(*bare, Counter(files), Counter(re.findall(r"\w+", text)))


def content_of_page(text, address):
    """Return what the HTML of a page holds."""
    article = re.search(r"<article\b.*?>(.*)</article>", text, re.S)[1]
    rest = WITHIN_WORDS.sub("", SEEN.sub(" ", article).replace("<a ", "<link "))
    code = re.findall(r"<pre\b.*?</pre>", rest, re.S)
    rest = re.sub(r"<pre\b.*?</pre>", " ", rest, flags=re.S)
    headings = [found for _, found in re.findall(r"<(h[1-6])\b.*?>(.*?)</\1>", rest, re.S)]
    bare = [[html.unescape(re.sub("<.*?>", "", one)) for one in part] for part in (code, headings)]
    links = re.findall(r'<link [^>]*?href="(.*?)"', rest)
    said = re.sub("<(?!link).*?>", " ", rest)
    said = html.unescape(re.sub("<link .*?>", "", said))
    return content_of(*bare, [urljoin(address, html.unescape(link)) for link in links], said)


def content_of_twin(text, address):
    """Return what the Markdown of a page holds, without the line that leads to the page."""
    code, headings, links, said, above = [], [], [], [], None
    for token in MARKDOWN.parse(re.sub(r"^\[Read this as a web page\].*$", "", text, flags=re.M)):
        if token.type in ("fence", "code_block"):
            code.append(token.content)
        parts = token.children or []
        words = "".join("\n" if one.type == "softbreak" else one.content for one in parts)
        if above == "heading_open":
            headings.append(words)
        if not words.startswith("Picture: "):
            said.append(words)
            links += [one.attrs["href"] for one in parts if one.type == "link_open"]
        above = token.type
    said = re.sub(r"\$\$?[^$]+\$\$?", "", "\n".join(said))
    return content_of(code, headings, [urljoin(address, link) for link in links], said)


def test_twin_holds_what_its_page_holds(folder, subtests):
    """Every listing and heading in its order, every link, and every word."""
    for file in sorted(folder.rglob("index.html")):
        place = file.parent.relative_to(folder).as_posix()
        address = SITE + f"{place}/".removeprefix("./")
        page = content_of_page(file.read_text("utf-8"), address)
        twin = content_of_twin(file.with_suffix(".md").read_text("utf-8"), address)
        for part in Content._fields:
            with subtests.test(f"{place}: {part}"):
                one, other = getattr(page, part), getattr(twin, part)
                # Not the whole: on failure, pytest would compare long texts for minutes.
                assert [*(Counter(one) - Counter(other))][:9] == []
                assert [*(Counter(other) - Counter(one))][:9] == []
                in_this_order = one == other
                assert in_this_order


def test_archive_is_offered_and_holds_the_site_once(page, base_url, folder, unpacked):
    """Each page is in it, each link leads to a file in it, and it does not hold itself."""
    page.goto(base_url, wait_until="networkidle")
    link = page.locator(".take-along a", has_text="the whole site").get_attribute("href")
    with zipfile.ZipFile(folder / link) as archive:
        names = archive.namelist()
        assert names == sorted(names)
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
    assert not list(unpacked.rglob("*.zip"))
    files = [file for file in unpacked.rglob("*.html") if file.name != "404.html"]
    assert len(files) == len(Page.files())
    for file in files:
        links = re.findall(r'(?:href|src)="?([^"#?>\s]+)', file.read_text("utf-8"))
        inside = [link for link in links if not re.match(r"\w+:", link)]
        assert not [link for link in inside if not Path(file.parent, link).is_file()], file


def test_archive_works_from_a_folder(page, unpacked):
    """Without a server, search finds a page, which opens, and nothing is asked of any host."""
    requests, complaints = [], []
    page.on("request", lambda asked: requests.append(asked.url))
    page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((unpacked / "index.html").as_uri())
    page.locator("input[data-md-component=search-query]").click()
    # At once: each key would have the list drawn anew, the last time perhaps under the click.
    page.keyboard.insert_text("grad_ys")
    first = page.locator(".md-search-result__item > a").first
    expect(first).to_have_attribute("href", re.compile("/parameters/grad_ys"))
    first.click()
    page.wait_for_url("**/parameters/grad_ys.html*")
    assert "output_gradients" in page.locator("h1").inner_text()
    assert not [url for url in requests if not url.startswith(("file:", "data:", "about:"))]
    assert not complaints


def test_languages_and_what_to_take_along_stand_at_the_top(page, base_url):
    """The menu leads to the Chinese page; the links come before the title, on errors, too."""
    page.goto(f"{base_url}/errors/none/", wait_until="networkidle")
    along = page.locator(".take-along").bounding_box()
    assert along["y"] < 200
    assert page.locator(".take-along a").count() >= 2
    page.locator(".md-select button").hover()
    page.locator(".md-select__link[hreflang=zh]").click()
    page.wait_for_url("**/zh/")
    assert page.locator("html").get_attribute("lang") == "zh"


def test_what_a_cell_prints_in_pieces_stays_one(tmp_path):
    """As on a busy machine, where the kernel sends a line in two."""
    code = 'import time\nprint("from", end=" ", flush=True)\ntime.sleep(0.5)\nprint("mean")'
    cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "two.ipynb")
    file = SimpleNamespace(
        name="two.ipynb", src_uri="two.ipynb", abs_src_path=tmp_path / "two.ipynb"
    )
    plugins = {"mkdocs-jupyter": SimpleNamespace(config={"execute": True})}
    page, config = SimpleNamespace(file=file, render=None), SimpleNamespace(plugins=plugins)
    assert "from mean" in executed(page, config)


def test_ways_in_begin_on_the_first_screen(page, base_url):
    """The home page shows its three cards without scrolling, whatever can be taken along."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(base_url, wait_until="networkidle")
    assert page.locator(".cards").bounding_box()["y"] <= 800
