"""Tell under each error which TensorFlow prints it, and list the errors of all pages.

`<!-- errors -->` becomes the list of all, and `<!-- errors frequent -->` that of those that the
front matter of its page names under `frequent`.
"""

import html
import posixpath
import re

from mkdocs.exceptions import PluginError

from pages import errors
from pages.page import Page
from releases import data as releases
from releases.messages import forms

MARKER = re.compile(r"^<!-- errors( frequent)? -->$", re.M)
OUTCOMES, PAGES = {}, {}


def on_nav(nav, config, files):
    """Read the entries again at each build, page by page in the order of the navigation."""
    OUTCOMES.clear()
    OUTCOMES.update(releases.load())
    PAGES.clear()
    found = {page.uri: errors.entries(page) for page in errors.error_pages()}
    for page in nav.pages:
        if page.file.src_uri in found:
            PAGES[page.file.src_uri] = page.title, found[page.file.src_uri]


def printed(name):
    """Say which releases print what the example `name` shows, and what others print instead.

    Raises:
        PluginError: The example has not been replayed. The site is not built.
    """
    same, others = forms(name, OUTCOMES, releases.RELEASES)
    if not same:
        raise PluginError(f"There is no example {name}, or it has changed: {releases.REPLAY}.")
    lines = [f"Printed by TensorFlow {releases.span(same)}."]
    for text, on in others.items():
        shown = html.escape(text).replace("](", "]&#40;")  # which is no link
        said = "<br>".join(f"<code>{line}</code>" for line in shown.splitlines())
        lines.append(f"TensorFlow {releases.span(on)} prints {said}")
    return "".join(f"<p>{line}</p>" for line in lines)


def listed(page, wanted=None):
    """Return the list of all errors, or of those that `wanted` names, with links from `page`."""
    lines, here = [], posixpath.dirname(page.file.src_uri) or "."
    places = {}
    for path, (title, found) in PAGES.items():
        address = posixpath.relpath(path, here)
        lines += [f"\n## [{title}]({address})\n"]
        lines += [f'<div class="listed" style="--items: {len(found)}" markdown>\n']
        for entry in found:
            link = f"[{entry.title}]({address}#{entry.anchor})"
            places[f"{path}#{entry.anchor}"] = f"- {link}"
            says = entry.says.replace("](#", f"]({address}#")
            lines.append(f"- {link}<br>{says}")
        lines.append("\n</div>")
    return "\n".join(lines if wanted is None else [places[name] for name in wanted])


def on_page_markdown(markdown, page, config, files):
    """Write what `page` asks for, and under each of its errors who prints it.

    Raises:
        PluginError: `frequent` names an error that there is not. The site is not built.
    """
    if page.file.src_uri in PAGES:
        for entry in reversed(errors.entries(Page.parse(markdown, page.file.src_uri))):
            end, says = entry.section.span.end, printed(entry.names[0])
            told = f'{markdown[:end].rstrip()}\n\n<div class="forms">{says}</div>\n\n'
            markdown = told + markdown[end:]
    try:
        return MARKER.sub(
            lambda found: listed(page, page.meta["frequent"] if found[1] else None), markdown
        )
    except KeyError as error:
        raise PluginError(f"docs/{page.file.src_uri}: no error has the address {error}") from None
