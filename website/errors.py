"""Tell under each error which TensorFlow prints it, and list the errors of all pages."""

import html

from mkdocs.exceptions import PluginError

from releases.data import RELEASES, REPLAY
from releases.messages import forms
from website.render import rendered, seen_from


def printed_by(name, site):
    """Return which releases print what the example `name` shows, and what others print instead.

    Raises:
        PluginError: The example has not been replayed. The site is not built.
    """
    same, others = forms(name, site.outcomes, RELEASES)
    if not same:
        raise PluginError(f"There is no example {name}, or it has changed: {REPLAY}.")
    shown = {
        html.escape(text).replace("](", "]&#40;"): on for text, on in others.items()
    }  # no link
    return rendered("forms.md", same=same, others=shown)


def noted(markdown, page, site):
    """Return the Markdown of `page`, as its file has it, with a note under each of its errors."""
    above = len(site.source(page).text) - len(markdown)
    for entry in reversed(site.entries.get(page.file.src_uri, ())):
        end = entry.section.span.end - above
        note = printed_by(entry.names[0], site)
        markdown = f"{markdown[:end].rstrip()}\n\n{note}\n\n{markdown[end:]}"
    return markdown


def listed(page, site, which=""):
    """Return the list of all errors, or of those that the head of `page` names as `frequent`.

    Raises:
        KeyError: There is no error of the name.
    """
    if not which:
        return rendered("errors.md", page=page, site=site)
    every = ((uri, one) for uri, entries in site.entries.items() for one in entries)
    titles = {f"{uri}#{one.anchor}": one.title for uri, one in every}
    return "\n".join(f"- [{titles[it]}]({seen_from(page, it)})" for it in page.meta[which])
