"""What MkDocs calls at each step of a build, in this order; the one Site is in `config.extra`."""

from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

from checks.snippets import MisshapenError
from pages.history import day_changed
from website import changes, errors, finish, layout, markers, matrix, notebooks, twins, verdicts
from website.build import Site
from website.downloads import files_to_publish
from website.render import spelled


def on_config(config):
    """Say where a page's source is, and how an archive is searched."""
    if config.repo_url:  # without one, MkDocs would warn of such a setting
        config.edit_uri = "edit/main/docs/"
    if "polyfills" in config.extra:  # the offline plugin's is on another host
        config.extra["polyfills"] = ["assets/offline.js"]


def on_nav(nav, config, files):
    """Begin this build's Site, and add the files that are made from it.

    Raises:
        PluginError: A page, an example or the finder's rules are not whole. No site is built.
    """
    try:
        config.extra["site"] = site = Site(config, files, nav)
        made = files_to_publish(site) | matrix.differences(site)
    except (MisshapenError, ValueError) as error:
        raise PluginError(str(error)) from None
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))


def on_page_markdown(markdown, page, config, files):
    """Write a page for all its readers, keep that, and go on for those who see it.

    Raises:
        PluginError: Something that the page names is not there. The site is not built.
    """
    site = config.extra["site"]
    if day := day_changed(site.source(page), site.days):
        page.meta["changed"] = day, spelled(day)
    page.meta |= verdicts.subtitle(page, site) | notebooks.offers(page, site)
    markdown = verdicts.with_statement_chips(errors.noted(markdown, page, site), page, site)
    markdown = verdicts.with_verdict_chips(markers.expanded(markdown, page, site))
    if page.file.src_uri.endswith(".ipynb"):
        markdown = notebooks.executed(page, config)
    site.markdown[page.file.src_uri] = markdown
    markdown = markers.expanded(markdown, page, site, drawn=True)
    return changes.highlighted(matrix.with_strip(markdown, page, site), page, site)


def on_page_content(html, page, config, files):
    """Finish a page's HTML."""
    return layout.laid_out(matrix.anchored(html, page, config.extra["site"]))


def on_post_page(output, page, config):
    """Let long names break in what stands beside the text."""
    return layout.with_breakable_names(output)


@event_priority(-200)  # after the search index is written
def on_post_build(config):
    """Write what readers take along, and finish the site; its archive holds all."""
    site = config.extra["site"]
    finish.finish(config, twins.twins_and_lists(site) | notebooks.notebooks_of_examples(site))
