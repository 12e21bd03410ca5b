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


# Marks the parts of listings that look like one before them, on the same ground.
MARK_ALIKE = """() => {
  const seen = new Set();
  for (const part of document.querySelectorAll("pre code span:not(:has(*))")) {
    const { color, fontSize, fontWeight } = getComputedStyle(part);
    const look = [color, fontSize, fontWeight];
    for (let one = part; one; one = one.parentElement)
      look.push(getComputedStyle(one).backgroundColor);
    part.toggleAttribute("data-alike", seen.has(String(look)));
    seen.add(String(look));
  }
}"""


def assert_accessible(page, context=None, rules=None):
    """Let axe look at a page, or at the part that `context` selects, and report what it finds.

    It goes by all its rules, or by those that are named.
    """
    # The browser tells axe no colours of what is far and not laid out; the matrix is too large.
    far = ":is(ul, ol, .md-footer, .md-sidebar, table:not([class]))"
    page.add_style_tag(content=far + " { content-visibility: visible !important; }")
    # A page has thousands of such parts, and each takes axe milliseconds.
    page.evaluate(MARK_ALIKE)
    context = {"include": [[context or "html"]], "exclude": [["[data-alike]"]]}
    # To describe what is as it should be would take axe as long again.
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    report = Axe().run(page, context=context, options=options)
    assert report.violations_count == 0, report.generate_report()
