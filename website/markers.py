"""Write into a page what it asks for by a comment: `<!-- word arguments -->`.

Each word of MARKERS stands for a pure function: (page, site, *arguments) → text.
"""

from collections import Counter
from functools import partial

from jinja2 import UndefinedError
from mkdocs.exceptions import PluginError

from pages.page import MARKER
from releases.data import RELEASES, StaleError, stated
from shapes.kept import counts_of, load_cells, unlike
from website import errors, matrix, plots, twins, verdicts
from website.render import rendered


def from_template(name, page, site):
    """Return what a template makes of the site, as `page` shows it."""
    return rendered(name, page=page, site=site)


def on_releases(word, page, site, name):
    """Say since, until or on which releases the example `name` prints the same."""
    return stated(word, name, site.outcomes).replace("TensorFlow ", "TensorFlow\u00a0")  # one line


def counted(page, site, what):
    """Return how many examples, errors, releases and so on there are."""
    fates = Counter(one.verdict for one in site.nine).most_common()
    counts = {
        "calls": len(site.calls),
        "errors": sum(map(len, site.entries.values())),
        "examples": len(site.examples),
        "releases": len(RELEASES),
        "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in fates),
    }
    return str(counts[what])


def shapes_of_recipe(page, site, on, recipe):
    """Return on which shapes a recipe was run, and what it gives where that is not the same."""
    outcomes = load_cells()
    same, count, releases = counts_of(recipe, outcomes)
    if not count:
        raise KeyError(recipe)
    rows = unlike(recipe, outcomes)
    data = {"same": same, "count": count, "releases": releases, "rows": rows}
    return rendered("runs.md", page=page, **data)


TEMPLATES = "became cases history legend parameters statements symptoms topic verdicts".split()
MARKERS = {
    **{word: partial(from_template, f"{word}.md") for word in TEMPLATES},
    **{word: partial(on_releases, word) for word in ("since", "until", "on")},
    **{word: partial(plots.picture, word) for word in plots.DRAW},
    "bugs": errors.known_bugs,
    "calls": verdicts.calls_of_all_pages,
    "codes": verdicts.codes_of_finder,
    "count": counted,
    "errors": errors.listed,
    "group": partial(from_template, "group.md"),
    "guide": lambda page, site: f"```text\n{twins.guide(site)}```",
    "releases": matrix.choice_or_matrix,
    "reproduce": errors.how_to_reproduce,
    "runs": shapes_of_recipe,
    "verdict": verdicts.parameter_chip,
}
DRAWN = {"releases", *plots.DRAW}  # for those who see the page, not for its Markdown


def expanded(markdown, page, site, *, drawn=False):
    """Return Markdown with the text that each of its markers asks for, now or when `drawn`.

    Raises:
        PluginError: A marker asks for what there is not. The site is not built.
    """

    def text(found):
        word, arguments = found["word"], (found["arguments"] or "").split()
        if word in MARKERS and (word in DRAWN) != drawn:
            return found[0]
        problem = f"docs/{page.file.src_uri}: {found[0]}: "
        if word not in MARKERS:
            there_is = ", ".join(sorted(MARKERS))
            raise PluginError(f"{problem}nothing here is called {word}; there is {there_is}")
        try:
            return expanded(MARKERS[word](page, site, *arguments), page, site)
        except (KeyError, UndefinedError) as error:
            raise PluginError(f"{problem}nothing here is called {error}") from error
        except (StaleError, TypeError, ValueError) as error:
            raise PluginError(f"{problem}{error}") from error

    return MARKER.sub(text, markdown)
