"""Keep listings out of the search: what an example prints is found, and the prose about it."""


def on_page_content(html, page, config, files):
    """Mark the code of `page`, which would drown messages and fill the list of results."""
    listing = '<div class="language-python highlight"'
    return html.replace(listing, f"{listing} data-search-exclude")
