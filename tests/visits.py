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


# Marks two parts of each look that is new: of text, its size and weight, and all that is behind it.
# Of the text of pictures, axe tells no contrast.
MARK_LOOKS = """([root, known]) => {
  const times = {};
  for (const part of document.querySelectorAll(`${root} *`)) {
    if (part.closest("svg")) continue;
    const said = [...part.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    const shown = (said || part.matches("input, select")) && part.getClientRects().length > 0;
    const { color, fontSize, fontWeight, visibility } = getComputedStyle(part);
    const parts = [color, fontSize, fontWeight, visibility];
    for (let one = part; shown && one; one = one.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(one);
      const behind = [backgroundColor, backgroundImage, opacity].join();
      if (behind !== "rgba(0, 0, 0, 0),none,1") parts.push(behind);
    }
    const look = parts.join(";");
    const mark = shown && !known.includes(look) && (times[look] ?? 0) < 2;
    if (mark) times[look] = (times[look] ?? 0) + 1;
    part.toggleAttribute("data-look", mark);
  }
  return Object.keys(times);
}"""
CONTRAST = "color-contrast"
# Of a symbol alone, and of text beside an icon of the style sheet, axe does not tell the contrast.
NOT_TOLD = {"nonBmp", "pseudoContent"}
# The browser tells axe no colours of what is far and not laid out, or scrolled out of the sidebar;
# the matrix is too large.
IN_SIGHT = """:is(ul, ol, .md-footer, .md-sidebar, table:not([class])) {
  content-visibility: visible !important;
}
@media (min-width: 76.25em) {
  .md-sidebar, .md-sidebar__scrollwrap {
    height: auto !important; max-height: none !important;
    overflow: visible !important; position: static !important;
  }
}"""
seen = set()  # the looks with enough contrast on some page: most pages have no other


def assert_accessible(page, root="html", colours_alone=False):
    """Let axe look at a page, or at the part that `root` selects, and report what it finds."""
    page.add_style_tag(content=IN_SIGHT)
    # A page has thousands of parts, of a few dozen looks, and each takes milliseconds.
    looks = page.evaluate(MARK_LOOKS, [root, [*seen]])
    asked = {f"{root} [data-look]": {"runOnly": [CONTRAST]}} if looks else {}
    if not colours_alone:
        asked[root] = {"rules": {CONTRAST: {"enabled": False}}}
    for part, options in asked.items():
        # To describe what is as it should be would take axe as long again.
        kinds = {"resultTypes": ["violations", "incomplete"]}
        report = Axe().run(page, part, {**kinds, **options})
        assert report.violations_count == 0, report.generate_report()
        unclear = [one for one in report.response["incomplete"] if one["id"] == CONTRAST]
        nodes = [node for one in unclear for node in one["nodes"]]
        untold = [one for one in nodes if one["any"][0]["data"]["messageKey"] not in NOT_TOLD]
        assert not untold, untold
    seen.update(looks)
