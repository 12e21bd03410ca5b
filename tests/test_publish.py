"""The site as other sites, its repository and readers of missing addresses see it."""

import functools
import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from datetime import date
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup

from checks import DOCS, ROOT, SNIPPETS, relative
from pages import history
from pages.page import Page
from tests.built import (
    ARCHIVED,
    REPOSITORY,
    SITE,
    Quiet,
    address_built,
    build,
    build_archived,
    served,
)
from tests.visits import assert_accessible

needs_git = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


@functools.cache
def built_page(site, source):
    """Return the built page of `source`."""
    file = site / address_built(source) / "index.html"
    return BeautifulSoup(file.read_text("utf-8"), "html.parser")


def head_of(page):
    """Return what the head of a page tells other sites: {name: value}."""
    metas = [meta for meta in page.find_all("meta") if meta.get("content")]
    found = [(meta.get("property") or meta.get("name"), meta["content"]) for meta in metas]
    assert len(dict(found)) == len(found), "a name is given twice"
    return dict(found)


def test_published_page_tells_other_sites_what_it_is(folder, subtests):
    """Address, title, description and picture are right and absolute on every page."""
    for source in Page.files():
        with subtests.test(relative(source)):
            page, data = built_page(folder, source), Page.read(source).front
            meta = head_of(page)
            assert [link["href"] for link in page.select("link[rel=canonical]")] == [meta["og:url"]]
            assert meta["og:url"] == SITE + address_built(source)
            home = source == DOCS / "index.md"
            assert meta["og:type"] == ("website" if home else "article")
            if "title" in data:
                assert meta["og:title"] == data["title"]
            if "description" in data:
                assert meta["og:description"] == meta["description"] == data["description"]
            picture = meta["og:image"]
            content = (folder / picture.removeprefix(SITE)).read_bytes()
            sides = [int.from_bytes(content[at : at + 4]) for at in (16, 20)]
            assert sides == [int(meta["og:image:width"]), int(meta["og:image:height"])]
            icons = page.select("link[rel~=icon], link[rel=apple-touch-icon], .md-logo img")
            for icon in icons:
                file = folder / address_built(source) / (icon.get("href") or icon["src"])
                assert file.resolve().parent == folder / "assets", file

    with subtests.test("the sitemap lists these pages"):
        text = (folder / "sitemap.xml").read_text("utf-8")
        assert text.startswith("<?xml")
        urls = [[part.text for part in url] for url in ET.fromstring(text)]  # noqa: S314
        shown = {url: day[0] if day else None for url, *day in urls}
        days = history.days_of_files()
        assert shown == {
            SITE + address_built(p.file): history.day_changed(p, days) for p in Page.every()
        }


def test_page_leads_to_its_source_and_to_a_report(folder, subtests):
    """A reader edits the page's own file, and a report names the page and asks for TensorFlow."""
    for source in Page.files():
        with subtests.test(relative(source)):
            page = built_page(folder, source)
            edit = page.select_one("a[rel=edit]")["href"]
            assert edit == f"{REPOSITORY}/edit/main/docs/{source.relative_to(DOCS).as_posix()}"
            report = page.find("a", string="Report an error on this page")["href"]
            assert report.startswith(f"{REPOSITORY}/issues/new?")
            asked = parse_qs(urlsplit(report).query)
            title = Page.read(source).front.get("title", "")
            assert asked["title"][0].startswith(f"Error on the page: {title}")
            assert f"Page: {SITE}{address_built(source)}\n" in asked["body"][0]
            assert "TensorFlow version" in asked["body"][0]


def git(folder, *arguments, **variables):
    """Run git in `folder` and return what it prints."""
    command = ["git", "-C", str(folder), "-c", "user.name=-", "-c", "user.email=-", *arguments]
    env = {**os.environ, **variables}
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def test_page_says_when_it_or_its_examples_changed(folder, subtests):
    """The day is that of git's last commit; without the whole history there is none."""
    whole = bool(history.days_of_files())
    for source in Page.files():
        with subtests.test(relative(source)):
            files = [source, *(SNIPPETS / name for name in Page.read(source).names)]
            day = whole and git(ROOT, "log", "-1", "--format=%cs", "--", *map(str, files)).strip()
            found = [time["datetime"] for time in built_page(folder, source).select("article time")]
            assert found == ([day] if day else [])


def test_news_lists_what_came_on_each_day(folder):
    """Under each day stand links to the pages that came, or got examples."""
    article = built_page(folder, DOCS / "evidence/new.md").find("article")
    news = history.news_by_day(Page.every(), history.days_of_files())
    assert ("without its history" in article.text) == (not news)
    days = {f"{date.fromisoformat(day):%d %B %Y}".lstrip("0"): both for day, both in news.items()}
    shown = [heading.contents[0] for heading in article.find_all("h2")]
    assert shown == list(days)
    for heading, (new, more) in zip(article.find_all("h2"), days.values(), strict=True):
        links = []
        for sibling in heading.find_next_siblings():
            if sibling.name == "h2":
                break
            links += [urljoin(f"{SITE}evidence/new/", a["href"]) for a in sibling.select("li a")]
        assert sorted(links) == sorted(SITE + address_built(DOCS / uri) for uri in [*new, *more])


@needs_git
def test_history_follows_renames_and_knows_its_limits(tmp_path):
    """A page keeps the day on which it came; a part of a history, or none, tells no day."""
    assert history.days_of_files(tmp_path) == {}
    old, new = tmp_path / "docs/old.md", tmp_path / "docs/new.md"
    git(tmp_path, "init", "--quiet")
    old.parent.mkdir()
    old.write_text("one\ntwo\nthree\n")
    for day, change in (
        ("2026-01-02", lambda: None),
        ("2026-03-04", lambda: old.rename(new)),
        ("2026-05-06", lambda: new.write_text("one\ntwo\nfour\n")),
        ("2026-07-08", lambda: (tmp_path / "README.md").write_text("none of the pages\n")),
    ):
        change()
        git(tmp_path, "add", "--all")
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{day}T12:00:00Z")
        git(tmp_path, "commit", "--quiet", "--message=-", **dates)
    assert history.days_of_files(tmp_path) == {"docs/new.md": ("2026-01-02", "2026-05-06")}
    git(tmp_path, "clone", "--quiet", "--depth=1", tmp_path.as_uri(), str(tmp_path / "shallow"))
    assert history.days_of_files(tmp_path / "shallow") == {}


def test_news_counts_examples_that_came_later():
    """Examples that came with their page are no news of their own."""
    page = Page.read(DOCS / "parameters/name.md")
    first, second, third, *_ = page.names
    days = {
        "docs/parameters/name.md": history.Days("2026-01-02", "2026-03-04"),
        f"snippets/{first}": history.Days("2026-01-02", "2026-01-02"),
        f"snippets/{second}": history.Days("2026-05-06", "2026-07-08"),
        f"snippets/{third}": history.Days("2026-05-06", "2026-05-06"),
    }
    news = history.news_by_day([page, Page.read(DOCS / "index.md")], days)
    name = page.uri
    assert list(news.items()) == [("2026-05-06", ([], {name: 2})), ("2026-01-02", ([name], {}))]
    assert history.day_changed(page, days) == "2026-07-08"


def test_building_twice_gives_the_same_bytes(folder, tmp_path):
    """Neither the time nor chance leaves a trace, in what a notebook prints either.

    Looked at is the site in the archive; the published one is made of the same, with addresses.
    """
    builds = folder.parent / ARCHIVED, build_archived(tmp_path)
    first, second = (
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        for site in builds
    )
    assert first.keys() == second.keys()
    assert [str(path) for path in first if first[path] != second[path]] == []
    one, other = (Path(f"{site}.zip").read_bytes() for site in builds)
    same = one == other  # on failure, pytest would compare megabytes
    assert same, "the archives differ"


def test_without_addresses_and_history_nothing_wrong_is_said(tmp_path):
    """What is not known is left out, on every page."""
    config = (ROOT / "mkdocs.yml").read_text("utf-8").replace("execute: true", "execute: false")
    site = build(tmp_path / "site", config, GIT_DIR=str(tmp_path / "none"))
    for file in site.rglob("*.html"):
        page = BeautifulSoup(file.read_text("utf-8"), "html.parser")
        assert not page.select("link[rel=canonical], a[rel=edit], article time"), file
        assert not {"og:url", "og:image"} & head_of(page).keys(), file
        assert not page.select('a[href=""], a[href*="issues/new"], meta[content=""]'), file
    assert "<url>" not in (site / "sitemap.xml").read_text("utf-8")
    news = (site / "evidence/new/index.html").read_text("utf-8")
    assert "without its history" in news


class Host(Quiet):
    """A host like GitHub Pages: it answers with the site's own page what it does not find."""

    def send_error(self, code, *_):
        """Send the site's page for missing addresses."""
        content = Path(self.directory, "gradients/404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="session")
def host(folder):
    """Serve the site below its project path and return its address."""
    with served(folder.parent, Host) as address:
        yield f"{address}/gradients/"


def test_missing_address_leads_on(host, new_context, subtests):
    """At any depth, the page that the reader meant stands first, or all pages do."""
    failed, complaints = [], []
    for scheme in ("light", "dark"):
        page = new_context(color_scheme=scheme).new_page()
        failed.clear()
        page.on("response", lambda got: failed.append(got.url) if got.status >= 400 else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        with subtests.test(f"nothing of the page is missing, and all can read it in the {scheme}"):
            page.goto(f"{host}a/b/c/", wait_until="networkidle")
            assert failed == [f"{host}a/b/c/"]
            assert page.locator("h1").inner_text() == "There is no page here"
            assert page.locator(".md-header").bounding_box()["height"] < 100
            assert page.locator("#likely a").count() == len(Page.files())
            assert_accessible(page)

    for missed, meant in (
        ("evidence/fact-check/", "evidence/statements/"),
        ("fact-check", "evidence/statements/"),
        ("old-api/jacobian/", "old-api/parallel_for/"),
        ("grad_ys/", "parameters/grad_ys/"),
        ("xs", "parameters/ys_xs/"),
        ("tf.gradients/stop_gradients.html", "parameters/stop_gradients/"),
        ("colocate_gradients/", "parameters/colocate_gradients_with_ops/"),
        ("tape/jacobain/index.html", "tape/jacobian/"),
        ("%E0%A4%A/hessian", "tape/higher_order/"),
    ):
        with subtests.test(missed):
            page.goto(host + missed)
            first = page.locator("#likely a").first.evaluate("link => link.href")
            assert first == host + meant
            assert page.locator("#likely a").count() <= 5

    with subtests.test("the words of the address are searched"):
        page.goto(f"{host}docs/unconnected_gradients/")
        page.locator(".missed button").click()
        first = page.locator(".md-search-result__item > a").first
        first.wait_for()
        assert f"{host}parameters/unconnected_gradients/" in first.evaluate("link => link.href")
        assert page.evaluate("document.activeElement.name") == "query"

    assert complaints == []
