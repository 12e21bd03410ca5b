"""The command line."""

import re
import sys

from .choice import explained_code, made_choice, read_baseline, without_known, write_baseline
from .files import code_files, fix_file, looked_at, looked_at_each
from .notebooks import notebook_lines
from .report import print_report, to_do
from .rules import VERSION


def command_options(arguments):
    """Return what is asked for on the command line."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="find_gradients.py",
        description="Find TensorFlow's old gradient calls, and say what to write instead.",
        epilog="It reads *.py and *.ipynb below folders; hidden folders, site-packages and "
        "node_modules are skipped. Your code is read and never run. Exit status: "
        "0 nothing to do, 1 something to do, 2 wrong usage, or not read with --strict. "
        "A comment `# noqa: TFG101` silences a line; [tool.find-tf-gradients] in pyproject.toml "
        "may set select, ignore, exclude, since, target and baseline. "
        "A verdict is one of: same, renamed, recipe (a few lines do it), gone (leave it "
        "out), lost. SILENT: it changes without a message. OTHER STEPS: an optimizer of "
        "that name may move the weights otherwise.",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file, a folder, or - for input")
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="default: text")
    for name, says in (
        ("fix", "rename or drop old keywords of tapes, where certain"),
        ("diff", "show what --fix would change, as a patch"),
        ("compat", "with these: import tensorflow.compat.v1 for graphs"),
    ):
        parser.add_argument("--" + name, action="store_true", help=says)
    for name, metavar, says in (
        ("select", "CODES", "only these, such as TFG101,TFG6"),
        ("ignore", "CODES", "all but these"),
        ("exclude", "PATTERNS", "leave out these files and folders"),
    ):
        parser.add_argument("--" + name, metavar=metavar, action="append", help=says)
    parser.add_argument("--since", metavar="RELEASE", help="leave out what fails there already")
    parser.add_argument("--target", metavar="RELEASE", help="leave out what still works there")
    parser.add_argument("--baseline", metavar="FILE", help="count only what is new since FILE")
    parser.add_argument("--write-baseline", action="store_true", help="write what there is to it")
    parser.add_argument("--markdown", action="store_true", help="read *.md below folders, too")
    parser.add_argument("--strict", action="store_true", help="exit with 2 if a file was not read")
    parser.add_argument("--statistics", action="store_true", help="show how often each code comes")
    parser.add_argument("--version", action="version", version=VERSION or "of a checkout")
    parser.add_argument("--explain", metavar="CODE", help="say what a code stands for; or: all")
    asked = parser.parse_args(arguments)
    if asked.fix and "-" in asked.paths:
        parser.error("--fix needs a file to write to; use --diff")
    if asked.compat and not (asked.fix or asked.diff):
        parser.error("--compat needs --fix or --diff")
    if not asked.paths and not asked.explain:
        parser.error("name a file or a folder, or - for input")
    return asked


def find_command(arguments=None):
    """Run the command line; return the exit status."""
    import os

    asked = command_options(arguments)
    for path in asked.paths:
        if not (sys.stdin if path == "-" else os.path.exists(path)):
            print(f"find_gradients.py: {path}: no such file, folder or input", file=sys.stderr)
            return 2
    try:
        if asked.explain:
            print(explained_code(asked.explain))
            return 0
        choice = made_choice(asked)
        if asked.write_baseline and not choice.baseline:
            raise ValueError("--write-baseline needs --baseline FILE, or the setting")
        if choice.baseline and not asked.write_baseline:
            read_baseline(choice.baseline)  # before anything is changed
    except ValueError as error:
        print(f"find_gradients.py: {error}", file=sys.stderr)
        return 2
    found, count, unread = looked_through(asked, choice)
    if asked.write_baseline:
        write_baseline(choice.baseline, found)
        print(f"{choice.baseline}: written, with {len(found)} findings", file=sys.stderr)
        return 2 if unread and asked.strict else 0
    new = without_known(found, choice.baseline) if choice.baseline else found
    print_report(asked, new, count, unread, len(found) - len(new))
    return 2 if unread and asked.strict else int(any(map(to_do, new)))


def looked_through(asked, choice):
    """Return what is found in all files, how many there are, and how many were not read."""
    unread, found, progress = [], [], sys.stderr.isatty()
    paths = list(code_files(asked.paths, choice.excludes, asked.markdown, unread))
    if not paths and not unread:
        unread += asked.paths
        print(f"{', '.join(unread)}: no file to look at there; see --help", file=sys.stderr)
    for number, (path, every) in enumerate(zip(paths, looked_at_each(paths)), 1):
        if progress and len(paths) > 200 and number % 20 == 0:
            print(f"\r{number} of {len(paths)} files", end="", file=sys.stderr)
        looked = every._replace(findings=counting_findings(every, choice))
        unread += [path] * (looked.decoded is None)
        change = looked.decoded and (asked.fix or asked.diff)
        done = fix_file(path, looked, asked.diff, asked.compat) if change else ""
        for message in filter(None, [looked.message, done]):
            print(f"{path}: {message}", file=sys.stderr)
        found += counting_findings(looked_at(path) if done == "changed" else every, choice)
    return found, len({*paths, *unread}), len(unread)


def counting_findings(looked, choice):
    """Return the findings in a file that count."""
    if not looked.findings:
        return []
    text = looked.decoded.text
    if looked.findings[0].cell is not None:  # a line of the file may hold a whole cell
        code = {one[2:]: one.code for one in notebook_lines(text)}
        return [one for one in looked.findings if choice.wants(one, code[one.cell, one.cell_line])]
    lines = re.split("\r\n|\r|\n", text)
    return [one for one in looked.findings if choice.wants(one, lines[one.line - 1])]


def run_command():
    """Run as a program: a name that cannot be printed, a closed pipe or Ctrl-C is no failure."""
    import os

    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        status = find_command()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    except KeyboardInterrupt:
        status = 130
    except OSError as error:  # such as a full disk
        print(f"find_gradients.py: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 2
    return status
