"""The code keeps its order: small rooms, arrows that run one way, names to search for."""

import ast
import collections
import io
import json
import re
import tokenize

import pytest

from checks import ROOT, relative
from pages.history import git_says
from pages.page import Page

# How many lines a room may have, without blanks, comments and docstrings, and why.
BUDGETS = {
    "checks": (337, "242 run and compare examples, a folder's in one process; 95 say what one is"),
    "pages": (
        451,
        "one parse of a page, and what is read from it, with every verdict, outcome and place; 21 "
        "tie a paragraph to the examples beside it, and a link's words to where it leads; 3 want "
        "zeros, ones, NaN, None and a warning printed",
    ),
    "releases": (
        266,
        "what 25 releases printed, in a file for each page, how that is replayed, and what it says",
    ),
    "finder": (
        2738,
        "2,553 in the file that readers get, without a library, of which 130 follow what a tape "
        "watches too late, 65 annotations, loops, tests of a kind, and whether a call still works, "
        "25 lines and magics of notebooks; 185 make that file and the wheel",
    ),
    "prover": (
        3857,
        "1,833 record, match, run, compare and tell, of which 90 take a loss apart into summands "
        "and examples; 2,024 name a cause, of 27, of which 75 undo what the losses then show, 130 "
        "look beside a clipping, and 125 tell which summand, or example, counts otherwise",
    ),
    "shapes": (
        1535,
        "480 are 47 recipes, 175 their sources and places, 320 run them and keep what came out; "
        "115 draw programs, 210 ask them in eleven ways, 220 compare, search and tell",
    ),
    "website": (
        673,
        "what MkDocs and its theme lack; 2 join what releases print, 25 label an error's listings, "
        "15 make a topic one text, 7 break long names, and not those of the bar",
    ),
    "docs/assets": (
        780,
        "own script and style; 120 make search find a message, fast, 45 sort and copy findings; "
        "10 lay out what stands far below only when it is near",
    ),
}
WORDS = 76700  # on all pages, outside of examples; of sentences drawn by chance, one in six fell
MOST = 350  # lines of one file, which a reader takes in at once
# From which rooms a room imports; tests and benchmarks look at all.
ARROWS = {
    "checks": set(),
    "pages": {"checks"},
    "releases": {"checks"},
    "finder": {"pages"},
    "prover": set(),
    "shapes": {"checks", "releases"},
    "website": {"checks", "pages", "releases", "finder", "shapes"},
}
FIGURES = [
    *sorted((ROOT / "bench").rglob("*.txt")),
    ROOT / "breaks/noticed.txt",
    *sorted((ROOT / "trials").glob("*.txt")),
    *(ROOT / "shapes" / name for name in ("cells.txt", "differ.txt", "found.txt")),
]
# Names that Python, pytest and MkDocs give, and the one by which a script is started.
GIVEN = re.compile(r"__\w+__|on_\w+|pytest_\w+|main")
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def files_of(room):
    """Return the files of a room that are program, script or style."""
    found = (ROOT / room).rglob("*.*")
    return sorted(file for file in found if file.suffix in (".py", ".js", ".css"))


def own_lines(file):
    """Return how many lines of a file are neither blank nor comment nor docstring."""
    text = file.read_text("utf-8")
    if file.suffix != ".py":
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines()
        return sum(bool(line.strip()) and not line.lstrip().startswith("//") for line in bare)
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            lines -= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    return len(lines)


def imported_rooms(file):
    """Return the other rooms from which a file imports."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[0] for name in names} & ARROWS.keys()


@pytest.mark.parametrize("room", BUDGETS)
def test_room_keeps_to_its_budget(room):
    """What is larger than its reason is two things, or does what a library does."""
    lines = {relative(file): own_lines(file) for file in files_of(room)}
    most, reason = BUDGETS[room]
    assert lines, f"There is no program in {room}/: mend BUDGETS"
    assert sum(lines.values()) <= most, (
        f"{room}/ has {sum(lines.values())} lines and may have {most} ({reason}): share, delete, "
        f"or let a library do it. {lines}"
    )


def page_words(page):
    """Return how many words stand on a page, its tables included, outside of its examples."""
    tokens = [one for part in page.sections for prose in part.prose for one in prose.tokens]
    return sum(len(one.content.split()) for one in tokens if one.type in ("text", "code_inline"))


def test_pages_keep_to_their_budget():
    """A reader in a hurry wants the answer and the code, and each sentence more can be false."""
    words = collections.Counter({page.uri: page_words(page) for page in Page.every()})
    longest = ", ".join(f"docs/{uri} {count}" for uri, count in words.most_common(5))
    assert words.total() <= WORDS, (
        f"The pages have {words.total()} words and may have {WORDS}: for each sentence that you "
        f"add, cut one that no example beside it prints. Longest: {longest}"
    )


@pytest.mark.parametrize("room", [*ARROWS, "tests", "bench", "trials"])
def test_file_is_small_and_looks_only_down(room):
    """No file is longer than a reader takes in at once, and none imports what is above it."""
    for file in files_of(room):
        assert own_lines(file) <= MOST, f"{relative(file)} has {own_lines(file)} lines: part it"
        if room in ARROWS and file.suffix == ".py":
            wrong = imported_rooms(file) - {room} - ARROWS[room]
            assert not wrong, f"{relative(file)} imports from {', '.join(wrong)}, which is above it"


def test_name_of_a_function_stands_once():
    """A name that several files define cannot be searched for."""
    homes = collections.defaultdict(set)
    for room in (*ARROWS, "tests", "bench"):
        for file in files_of(room):
            for node in ast.parse(file.read_text("utf-8")).body if file.suffix == ".py" else ():
                if isinstance(node, DOCUMENTED) and not GIVEN.fullmatch(node.name):
                    homes[node.name].add(relative(file))
    twice = {name: sorted(files) for name, files in homes.items() if len(files) > 1}
    assert not twice, f"Say in the name what it returns: {twice}"


@pytest.mark.parametrize("file", FIGURES, ids=relative)
def test_figure_says_on_what_it_was_measured(file):
    """Its last line names the TensorFlow that is locked, or a commit of this repository."""
    lock = (ROOT / "requirements/snippets.txt").read_text("utf-8")
    locked = re.search(r"^tensorflow==(\S+)", lock, re.M)[1]
    last = file.read_text("utf-8").splitlines()[-1]
    commit = re.search(r"at commit ([0-9a-f]{8})$", last)
    assert commit or last.endswith(f"TensorFlow {locked}"), (
        f"{relative(file)} does not say on what it was measured; its last line is “{last}”"
    )
    if commit and git_says(ROOT, "rev-parse", "--is-shallow-repository") == "false\n":
        kind = git_says(ROOT, "cat-file", "-t", commit[1])
        assert kind == "commit\n", f"{relative(file)} names {commit[1]}, which is no commit here"


def test_each_break_still_applies():
    """What `nox -s breaks` changes on purpose stands once in its file."""
    breaks = json.loads((ROOT / "breaks/breaks.json").read_text("utf-8"))
    gone = [b for b in breaks if (ROOT / b["file"]).read_text("utf-8").count(b["old"]) != 1]
    assert not gone, f"Give breaks/breaks.json a text that its file holds once: {gone}"
