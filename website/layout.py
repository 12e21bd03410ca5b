"""Make code quick to lay out, and let tables and headings fit a phone.

Code has no elements that colour nothing, and what a program prints is no code, so that the theme
need not give it a button and watch its size. Each cell of a table knows its column, and long names
may break.
"""

import functools
import html
import itertools
import re

from website.render import rendered

# Names, punctuation, operators, white space and outputs have the colour of the text around them;
# they are three of four elements.
PLAIN = re.compile(r'<span class="(?:n|p|o|ow|w|go)">([^<]*)</span>')
DROWNS_MESSAGES = re.compile(r'<div class="(?:language-python highlight|tabbed-labels)"')
OUTPUT = re.compile(
    r'(<div class="language-output highlight"><pre>)<span></span><code>(.*?)</code>', re.S
)
LISTING = re.compile(
    r'(<div class="language-(?!output)[^"]+")(.*?)<pre><span></span><code>(.*?)</code></pre>', re.S
)
FITS = 60  # columns: on a phone, and in one of two columns on a wide screen


def numbered_listing(numbers, listing):
    """Return a listing with a copy button and the number of its lines, from which comes its height.

    One that may be too wide can be reached, and so scrolled, by keys.
    """
    lines = html.unescape(re.sub("<.*?>", "", listing[3])).splitlines()
    wide, number = max(map(len, lines), default=0) > FITS, next(numbers)
    return rendered("listing.md", lines=lines, wide=wide, number=number, parts=listing)


def labelled(table):
    """Return a table whose cells say what the head of their column says."""
    heads = re.findall(r"<th\b.*?>(.*?)</th>", table[0], re.S)
    labels = itertools.cycle([re.sub(r"<.*?>|\"", "", head) for head in heads])
    return re.sub(r"<td", lambda cell: f'{cell[0]} data-label="{next(labels)}"', table[0])


def breakable(element):
    """Return an element whose long names may break, at their joints alone."""

    def joints(name):
        return re.sub(r"(?<=\w)[._(/](?=\w)", r"\g<0><wbr>", name[0])

    return re.sub(r"[\w.(/]{20,}(?![^<>]*>)", joints, element[0])


def with_breakable_names(page):
    """Return the HTML of a whole page whose names may break in its navigation and contents."""
    bar, end, rest = page.partition("</header>")  # its title has one line
    return bar + end + re.sub('<span class="md-ellipsis">.*?</span>', breakable, rest, flags=re.S)


def laid_out(content):
    """Return a page's HTML as it is shown, with marks on what the search leaves out."""
    content = DROWNS_MESSAGES.sub(r"\g<0> data-search-exclude", content)
    content = re.sub(r"<table>.*?</table>", labelled, content, flags=re.S)
    content = re.sub(r"<(h[1-6]|t[dh])\b.*?</\1>", breakable, content, flags=re.S)
    content = re.sub(r"(?<!</span>)<(code|a)\b[^>]*>[^<]+</\1>", breakable, content)  # no listing
    content = OUTPUT.sub(r"\1<samp>\2</samp>", PLAIN.sub(r"\1", content))
    return LISTING.sub(functools.partial(numbered_listing, itertools.count()), content)
