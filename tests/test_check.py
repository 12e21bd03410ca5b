"""The page "Check your code" says what the finder says, and keeps the reader's code."""

import contextlib
import hashlib
import json
import re

import pytest
from playwright.sync_api import expect

from checks import ROOT, relative
from finder.command import find_command
from finder.find import find
from tests.visits import Visit, assert_accessible

SHOWN = ROOT / "finder/shown"
EXAMPLE = (SHOWN / "train.txt").read_text("utf-8")
ADDRESS = "start/check-your-code/"
CELLS = ["%matplotlib inline\n", "import tensorflow as tf\n", "g = tf.gradients(y, x)"]
COUNTED = "5a043ebd96c3"  # the digest of the places on which the finder was counted
PASTED = {
    **{file.stem: file.read_text("utf-8") for file in sorted(ROOT.glob("tests/finder/*.txt"))},
    "example": EXAMPLE,
    "notebook": json.dumps({"cells": [{"cell_type": "code", "source": CELLS}]}, indent=1),
    "nothing": "print('no gradient here')\n",
}


def paste_code(page, text):
    """Paste a text into the box, and wait for the answer."""
    page.locator("#code").fill(text)
    said = page.locator(".check [role=status]")
    expect(said).to_have_text(re.compile("found|failed|cannot|could not"), timeout=180_000)
    assert re.match(r"\d+ found|Nothing found", said.text_content()), said.text_content()


def place(found):
    """Return where a finding stands, as the page says it."""
    if "cell" in found:
        return f"Cell {found['cell']}, line {found['cell_line']}"
    return f"Line {found['line']}"


@pytest.fixture(scope="module")
def opened(browser, browser_context_args, base_url):
    """Open the page once for all texts: to load Python takes longer than to read one of them."""
    context = browser.new_context(**browser_context_args)
    visit = Visit(context.new_page(), [], [])
    bad, page = visit.complaints, visit.page
    context.on("request", lambda asked: visit.requests.append(asked.url))
    context.on("requestfailed", lambda asked: bad.append(asked.url))
    context.on("response", lambda got: bad.append(got.url) if not got.ok else None)
    page.on("console", lambda said: bad.append(said.text))
    page.on("pageerror", lambda error: bad.append(str(error)))
    page.goto(f"{base_url}/{ADDRESS}", wait_until="networkidle")
    assert not [url for url in visit.requests if "brython" in url or "finder" in url]
    yield visit
    context.close()


@pytest.mark.parametrize("name", PASTED)
def test_page_says_what_the_finder_says(name, opened, base_url):
    """The same places, calls and replacements, silent changes first; nothing else is asked for."""
    page, requests, bad = opened
    paste_code(page, PASTED[name])
    found = find(PASTED[name], "code.ipynb" if name == "notebook" else "code.py")
    found.sort(key=lambda one: not one["silent"])
    assert page.locator(".check ol button").all_text_contents() == [place(one) for one in found]
    pairs = [(one["call"], one["hunk"] or one["replacement"]) for one in found]
    listed = [code for pair in pairs for code in pair if code]
    shown = page.locator(".check samp").all_text_contents()
    assert [text.rstrip("\n") for text in shown] == listed
    verdicts = ["trap" if one["trap"] else one["verdict"] for one in found]
    assert page.locator(".check ol > li > .verdict").all_text_contents() == verdicts
    assert [url for url in requests if url.endswith("brython.js")]
    assert not bad
    assert not [url for url in requests if not url.startswith((base_url, "data:", "blob:"))]


def test_pasted_code_is_text(page, base_url):
    """What looks like HTML in a reader's file is shown and never run."""
    page.goto(f"{base_url}/{ADDRESS}", wait_until="networkidle")
    harm = "<img src=x onerror=\"document.title='run'\">"
    paste_code(page, f"import tensorflow as tf\ntf.gradients(y, '''{harm}''')\n")
    assert harm in page.locator(".check samp").first.text_content()
    assert page.locator(".check img").count() == 0
    assert page.title() != "run"


def test_a_finding_leads_to_its_line(page, base_url):
    """By keyboard, from the box to the first finding and back to the line in the box."""
    page.goto(f"{base_url}/{ADDRESS}", wait_until="networkidle")
    paste_code(page, "#\n" * 300 + EXAMPLE)
    box = page.locator("#code")
    box.focus()
    for _ in range(page.locator(".check [role=group] > button").count() + 1):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(box).to_be_focused()
    selected = box.evaluate("box => box.value.slice(box.selectionStart, box.selectionEnd)")
    assert selected == "grads = tf.gradients(loss, [w], stop_gradients=[z])"
    assert box.evaluate("box => box.scrollTop") > 1000


def test_every_link_of_a_finding_leads_somewhere(page, base_url, folder):
    """The pages and anchors that findings name are there."""
    page.goto(f"{base_url}/{ADDRESS}", wait_until="networkidle")
    paste_code(page, "".join(PASTED[name] for name in ("optimizers", "keras", "traps", "memory")))
    links = page.locator(".check ol a").evaluate_all("links => links.map((link) => link.href)")
    assert len(set(links)) > 10
    for link in set(links):
        path, _, anchor = link.removeprefix(f"{base_url}/").partition("#")
        text = (folder / path / "index.html").read_text("utf-8")
        assert not anchor or f'id="{anchor}"' in text, link


def test_findings_of_one_verdict_are_shown_and_copied(new_context, base_url):
    """Its button says how many there are, hides the others, and gives them back."""
    page = new_context().new_page()
    page.goto(f"{base_url}/{ADDRESS}", wait_until="networkidle")
    paste_code(page, PASTED["optimizers"])
    found = find(PASTED["optimizers"], "code.py")
    found.sort(key=lambda one: not one["silent"])
    gone = [one for one in found if one["verdict"] == "gone" and not one["trap"]]
    chosen, rows = page.locator(".check [value=gone]"), page.locator(".check ol > li:visible")
    assert chosen.text_content() == f"gone {len(gone)}"
    chosen.click()
    assert 0 < rows.count() == len(gone) < len(found)
    page.get_by_role("button", name="Copy all").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    said = [
        f"{place(one)}: {one['call']}\n{one['hunk'] or one['replacement'] or one['write']}"
        for one in gone
    ]
    assert copied == "\n\n".join(said)
    chosen.click()
    assert rows.count() == len(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_findings_are_accessible(scheme, new_context, base_url):
    """With findings shown, of every kind, also on a phone."""
    page = new_context(color_scheme=scheme).new_page()
    page.goto(f"{base_url}/{ADDRESS}", wait_until="networkidle")
    paste_code(page, "".join(PASTED[name] for name in ("example", "optimizers", "works", "broken")))
    assert_accessible(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_long_file_is_answered(page, base_url):
    """Two thousand lines, and then something else: the last answer stays."""
    page.goto(f"{base_url}/{ADDRESS}", wait_until="networkidle")
    call = "def f(x):\n    return tf.gradients(x * x, x)\n"
    paste_code(page, "import tensorflow as tf\n" + call * 100 + "y = x + 1\n" * 1800)
    assert page.locator(".check ol > li").count() == 100
    page.locator("#code").fill("")
    expect(page.locator(".check [role=status]")).to_have_text(re.compile("^Ready"), timeout=60_000)
    assert page.locator(".check ol > li").count() == 0


def test_a_page_from_a_folder_says_what_to_do(page, folder):
    """Where no worker may start, the file does it."""
    page.goto((folder / ADDRESS / "index.html").as_uri())
    page.locator("#code").fill(EXAMPLE)
    said = page.locator(".check [role=status]")
    expect(said).to_contain_text("Run the file instead.")
    said.locator("a").click()
    expect(page.locator("#all-of-your-files")).to_be_in_viewport()


def test_page_shows_what_the_finder_prints(tmp_path, monkeypatch, capsys):
    """The example on the page is what a reader's terminal shows, and so is the help."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("train", "graph"):
        (tmp_path / f"{name}.py").write_text((SHOWN / f"{name}.txt").read_text("utf-8"), "utf-8")
    printed = {
        "prints": "train.py",
        "diff": "--diff train.py",
        "compat": "--diff --compat graph.py",
        "help": "--help",
        "statistics": "--statistics train.py",
        "explain": "--explain TFG203",
    }
    for name, told in printed.items():
        file = SHOWN / f"{name}.txt"
        with contextlib.suppress(SystemExit):  # which argparse raises
            find_command(told.split())
        assert capsys.readouterr().out == file.read_text("utf-8"), (
            f"{relative(file)} is not what the finder prints: for name in train graph; do "
            f"cp finder/shown/$name.txt $name.py; done; python3 -m finder {told} > {relative(file)}"
        )


def test_page_shows_settings_that_work(tmp_path, monkeypatch, capsys):
    """The comment silences its line, and the finder takes the settings."""
    monkeypatch.chdir(tmp_path)
    silenced = (SHOWN / "silenced.txt").read_text("utf-8")
    for name, text in {"a.py": silenced, "third_party/b.py": EXAMPLE}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert find_command(["."]) == 1
    assert "a.py" not in capsys.readouterr().out
    (tmp_path / "pyproject.toml").write_text((SHOWN / "settings.txt").read_text("utf-8"))
    assert find_command([".", "--write-baseline"]) == 0
    assert "old-gradients.json: written, with 0 findings" in capsys.readouterr().err


def test_counts_on_the_page_are_those_of_the_corpus():
    """So many files and lines were held back; every row adds up to them."""
    corpus = json.loads((ROOT / "tests/finder/corpus.json").read_text("utf-8"))
    held = [one for one in corpus if one["held"]]
    total = sum(len(one["lines"]) for one in held)
    text = (SHOWN / "recall.txt").read_text("utf-8")
    assert f"{total} lines of {len(held)} public files" in text
    digest = hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:12]
    assert digest == COUNTED, (
        "tests/finder/corpus.json holds back other places than those that were counted: count "
        "again, write the counts and the commit into finder/shown/recall.txt, and the digest "
        f"{digest} above"
    )
    rows = re.findall(r"^\S.*?  +(\d+)  +(\d+)", text, re.M)
    assert [int(right) + int(overlooked) for right, overlooked in rows] == [total] * 3
