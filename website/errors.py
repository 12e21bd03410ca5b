"""Tell under each error which TensorFlow prints it, and list the errors of all pages."""

import html

from mkdocs.exceptions import PluginError

from releases.data import RELEASES, REPLAY, span
from releases.messages import forms
from website.build import seen_from
from website.render import rendered


def printed_by(name, site):
    """Say which releases print what the example `name` shows, and what others print instead.

    Raises:
        PluginError: The example has not been replayed. The site is not built.
    """
    same, others = forms(name, site.outcomes, RELEASES)
    if not same:
        raise PluginError(f"There is no example {name}, or it has changed: {REPLAY}.")
    lines = [f"Printed by TensorFlow {span(same)}."]
    for text, on in others.items():
        shown = html.escape(text).replace("](", "]&#40;")  # which is no link
        said = "<br>".join(f"<code>{line}</code>" for line in shown.splitlines())
        lines.append(f"TensorFlow {span(on)} prints {said}")
    return "".join(f"<p>{line}</p>" for line in lines)


def noted(markdown, page, site):
    """Return the Markdown of `page`, as its file has it, with a note under each of its errors."""
    above = len(site.source(page).text) - len(markdown)
    for entry in reversed(site.entries.get(page.file.src_uri, ())):
        end = entry.section.span.end - above
        note = f'<div class="forms">{printed_by(entry.names[0], site)}</div>'
        markdown = f"{markdown[:end].rstrip()}\n\n{note}\n\n{markdown[end:]}"
    return markdown


def listed(page, site, which=""):
    """Return the list of all errors, or of those that the head of `page` names as `frequent`.

    Raises:
        KeyError: There is no error of the name.
    """
    if not which:
        return rendered("errors.md", page=page, site=site)
    links = {
        f"{uri}#{one.anchor}": f"- [{one.title}]({seen_from(page, uri)}#{one.anchor})"
        for uri, entries in site.entries.items()
        for one in entries
    }
    return "\n".join(links[name] for name in page.meta[which])
