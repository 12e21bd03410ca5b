"""The built site, served to a browser."""

import fcntl
import os
import shutil

import pytest
from playwright.sync_api import Error, expect

from tests.built import build_published, served
from tests.visits import AS_AT_FIRST, AT_REST, Visit

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)

expect.set_options(timeout=30_000)  # ms; five seconds are too few on a busy machine


def pytest_collection_modifyitems(items):
    """Begin with what needs the site: one process builds it while the others do the rest."""
    items.sort(key=lambda item: "folder" not in item.fixturenames)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, worker_id):
    """Build the site below a project path, as CI does, once for all processes."""
    own = tmp_path_factory.getbasetemp()
    scratch = (own if worker_id == "master" else own.parent) / "published"
    scratch.mkdir(exist_ok=True)
    with (scratch / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        site = scratch / "gradients"
        return site if (site / "llms.txt").exists() else build_published(scratch)


@pytest.fixture(scope="session")
def base_url(folder):
    """Serve the site and return its address."""
    with served(folder) as address:
        yield address


@pytest.fixture(scope="session")
def browser(launch_browser):
    """Start an installed Chromium or Chrome, else Playwright's own, else skip."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        browser = launch_browser(executable_path=path)
    except Error as error:
        reason = (
            "No browser, so the site was not tested in one. Install Chromium (for instance with "
            "`apt install chromium`) or Playwright's own (`.nox/tests/bin/playwright install "
            f"chromium`), then run `nox -s tests`. {str(error).splitlines()[0]}"
        )
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    """Let a page write to the clipboard and read it back."""
    return {
        **browser_context_args,
        "permissions": ["clipboard-read", "clipboard-write"],
    }


@pytest.fixture
def new_context(new_context):
    """Open contexts, also that of `page`, in which nothing moves."""

    def at_rest(**options):
        context = new_context(**options)
        context.add_init_script(AT_REST)
        return context

    return at_rest


@pytest.fixture(scope="session")
def tab(browser, browser_context_args):
    """Open the one tab of all visits, whose scripts are read and compiled once."""
    context = browser.new_context(**browser_context_args)
    context.add_init_script(AT_REST + AS_AT_FIRST)
    yield context.new_page()
    context.close()


@pytest.fixture
def visit(tab):
    """Give the tab to a test: in the light, on a desk, and as if no page had been seen before."""
    visit = Visit(tab, [], [])
    listeners = {
        "request": lambda asked: visit.requests.append(asked.url),
        "console": lambda said: visit.complaints.append(f"{said.type}: {said.text}"),
        "pageerror": lambda error: visit.complaints.append(str(error)),
    }
    tab.goto("about:blank")
    for event, listener in listeners.items():
        tab.on(event, listener)
    tab.set_viewport_size({"width": 1280, "height": 720})
    tab.emulate_media(color_scheme="light")
    yield visit
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
