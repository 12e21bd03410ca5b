"""All that the pages of one build are made from, each thing read once.

`mkdocs serve` builds again and again in one process, so that each build has a Site of its own.
"""

import json

from checks import DOCS, ROOT, snippets
from pages import history
from pages.calls import calls_by_key
from pages.errors import entries, error_pages
from pages.page import Page
from pages.parameters import nine_parameters
from pages.statements import statements
from releases import data as releases
from releases.outcomes import outcomes_on


class Site:
    """The pages of a build, by their paths in the order of the navigation, and what they show.

    Of what stands on several pages, `entries`, `statements` and `replayed` are by path, too;
    `markdown` holds each page as its readers take it along, once it is written.
    """

    def __init__(self, config, files, nav):
        """Read everything.

        Raises:
            MisshapenError: A file below snippets/ is no example.
            ValueError: A page lacks its title, or a row of its tables what it needs.
        """
        self.config, self.files, self.nav, self.markdown = config, files, nav, {}
        self.pages = {page.file.src_uri: page for page in nav.pages}
        self.parsed = {uri: Page.read(DOCS / uri) for uri in self.pages}
        self.examples = snippets.load_examples()
        outcomes = self.outcomes = releases.load_outcomes(examples=self.examples)
        self.replayed = {
            uri: outcomes_on(page, self.examples, outcomes) for uri, page in self.parsed.items()
        }
        errors = error_pages()
        self.entries = {u: entries(page) for u, page in self.parsed.items() if page in errors}
        self.statements = {u: s for u, page in self.parsed.items() if (s := statements(page))}
        self.calls, self.nine = calls_by_key(), nine_parameters()
        self.days = history.days_of_files()
        self.news = history.news_by_day(self.parsed.values(), self.days)
        self.symptoms = json.loads((DOCS / "symptoms.json").read_text("utf-8"))
        self.times = json.loads((ROOT / "bench/cases.json").read_text("utf-8"))

    def source(self, page):
        """Return the parts of a page, as its file has them, in the navigation or not."""
        return Page.read(DOCS / page.file.src_uri)
