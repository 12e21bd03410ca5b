"""A page in a browser: at rest, and as all readers can use it."""

from typing import NamedTuple

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# Nothing moves: while the theme fades something in, axe would measure colours on the way.
AT_REST = """{
  const rest = new CSSStyleSheet();
  rest.replaceSync(`*, ::before, ::after {
    transition-duration: 0s !important;
    transition-delay: 0s !important;
    animation-duration: 0s !important;
    animation-delay: 0s !important;
    scroll-behavior: auto !important;
  }`);
  document.adoptedStyleSheets.push(rest);
}"""
# The theme keeps in its storage what a reader chose.
AS_AT_FIRST = (
    "if (location.protocol !== 'about:') [localStorage, sessionStorage].map(s => s.clear())"
)


class Visit(NamedTuple):
    """A page in a tab, the addresses that it asks for, and what its console says."""

    page: Page
    requests: list[str]
    complaints: list[str]


# Marks the first two parts of each look: of text, its size and weight, and all that is behind it.
MARK_LOOKS = """(root) => {
  const times = {};
  for (const part of document.querySelectorAll(`${root} *`)) {
    const said = [...part.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    const shown = (said || part.matches("input, select")) && part.getClientRects().length > 0;
    const { color, fontSize, fontWeight, visibility } = getComputedStyle(part);
    const look = [color, fontSize, fontWeight, visibility];
    for (let one = part; shown && one; one = one.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(one);
      const behind = [backgroundColor, backgroundImage, opacity].join();
      if (behind !== "rgba(0, 0, 0, 0),none,1") look.push(behind);
    }
    times[look] = (times[look] ?? 0) + shown;
    part.toggleAttribute("data-look", shown && times[look] < 3);
  }
}"""
CONTRAST = "color-contrast"


def assert_accessible(page, root="html", colours_alone=False):
    """Let axe look at a page, or at the part that `root` selects, and report what it finds."""
    # The browser tells axe no colours of what is far and not laid out; the matrix is too large.
    far = ":is(ul, ol, .md-footer, .md-sidebar, table:not([class]))"
    page.add_style_tag(content=far + " { content-visibility: visible !important; }")
    # A page has thousands of parts, of a few dozen looks, and each takes milliseconds.
    page.evaluate(MARK_LOOKS, root)
    asked = {f"{root} [data-look]": {"runOnly": [CONTRAST]}}
    if not colours_alone:
        asked[root] = {"rules": {CONTRAST: {"enabled": False}}}
    for part, options in asked.items():
        # To describe what is as it should be would take axe as long again.
        report = Axe().run(page, part, {"resultTypes": ["violations"], **options})
        assert report.violations_count == 0, report.generate_report()
