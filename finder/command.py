"""The command line."""

import sys

from .files import code_files, fix_file, looked_at, looked_at_each
from .report import print_report, to_do


def command_options(arguments):
    """Return what is asked for on the command line."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="find_gradients.py",
        description="Find TensorFlow's old gradient calls, and say what to write instead.",
        epilog="It reads *.py and *.ipynb below folders; hidden folders, site-packages and "
        "node_modules are skipped. Your code is read and never run. Exit status: "
        "0 nothing to do, 1 something to do, 2 wrong usage. "
        "A verdict is one of: same, renamed, recipe (a few lines do it), gone (leave it "
        "out), lost. SILENT: it changes without a message.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, or - for input")
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="default: text")
    parser.add_argument(
        "--fix", action="store_true", help="rename or drop old keywords of tapes, where certain"
    )
    parser.add_argument(
        "--diff", action="store_true", help="show what --fix would change, as a patch"
    )
    asked = parser.parse_args(arguments)
    if asked.fix and "-" in asked.paths:
        parser.error("--fix needs a file to write to; use --diff")
    return asked


def find_command(arguments=None):
    """Run the command line; return the exit status."""
    import os

    asked = command_options(arguments)
    missing = [path for path in asked.paths if path != "-" and not os.path.exists(path)]
    for path in missing:
        print(f"find_gradients.py: {path}: no such file or folder", file=sys.stderr)
    if missing:
        return 2
    paths, findings, progress = list(code_files(asked.paths)), [], sys.stderr.isatty()
    for number, (path, looked) in enumerate(zip(paths, looked_at_each(paths)), 1):
        if progress and len(paths) > 200 and number % 20 == 0:
            print(f"\r{number} of {len(paths)} files", end="", file=sys.stderr)
        change = looked.decoded and (asked.fix or asked.diff)
        done = fix_file(path, looked, asked.diff) if change else ""
        for message in filter(None, [looked.message, done]):
            print(f"{path}: {message}", file=sys.stderr)
        findings += (looked_at(path) if done == "changed" else looked).findings  # what is left
    print_report(asked, findings, len(paths))
    return int(any(map(to_do, findings)))


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
    return status
