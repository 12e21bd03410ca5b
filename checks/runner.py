"""The runner of pytest-markdown-docs: run an example, compare it, and try wrong outputs on it."""

import difflib
import os
import random
from pathlib import Path

from pytest_markdown_docs._runners import DefaultRunner, register_runner

from checks import other_tensorflow, relative
from checks.compare import same, wrong_variants
from checks.snippets import Snippet, read, unreadable, write

SEED = os.environ.get("SEED", os.environ.get("GITHUB_SHA", ""))  # CI has its own with each commit


class WrongSnippetError(Exception):
    """An example fails, says something else than it prints, or is not readable."""


def pytest_addoption(parser):
    """Let `--update` write what an example prints into its output fence."""
    parser.addoption("--update", action="store_true", help="write the output fences")


def pytest_configure(config):
    """Tell the runner, which pytest-markdown-docs creates, about `--update`."""
    SnippetRunner.update = config.getoption("update")


def pytest_report_header():
    """Say how to have the same order again."""
    return SEED and f"examples of a folder in the order of SEED={SEED}"


def pytest_collection_modifyitems(config, items):
    """Keep the examples of a folder together that share a process, and shuffle them on CI."""

    def place(item):
        return item.path.parent, not Snippet(item.path.name, item.code, "").alone

    if config.option.markdowndocs:
        if SEED:
            random.Random(SEED).shuffle(items)
        items.sort(key=place)


def pytest_sessionfinish():
    """Stop the other processes."""
    other_tensorflow.open_ones.close()


def fault(snippet, name, result):
    """Return what is wrong with the result of an example, or nothing."""
    if result.error:
        return f"{name} fails.\n{result.error}"
    if same(snippet.output, result.printed):
        return ""
    lines = snippet.output.splitlines(), result.printed.splitlines()
    diff = difflib.unified_diff(*lines, f"{name} says", "TensorFlow prints", lineterm="")
    return (
        f"{name} prints something else.\n\n" + "\n".join(diff) + "\n\nIf TensorFlow is "
        f"right, accept it with: python3 noxfile.py -s snippets -- --update {name}"
    )


@register_runner(default=True)
class SnippetRunner(DefaultRunner):
    """The runner of every python fence in `snippets/` and in the README."""

    update = False

    # With the argument asyncio_runner, pytest-markdown-docs would run it again after a TypeError.
    def runtest(self, test, args):
        """Fail unless the fence prints what the output fence under it says, and nothing else."""
        path = Path(test.source_path)
        name, snippet = relative(path), read(path, output=not self.update)
        run = (other_tensorflow.one_fifteen if snippet.old else other_tensorflow.here)()
        batch = "" if self.update or snippet.alone else str(path.parent)
        wrong = fault(snippet, name, result := run(snippet.code, name, batch=batch))
        if self.update and wrong and not result.error:
            return write(path, result.printed)
        if wrong and batch and not fault(snippet, name, run(snippet.code, name)):
            wrong = (
                f"{name} is right in a process of its own, and not in one with its neighbours. If "
                "it changes a setting, add the call to SETTING in checks/snippets.py.\n\n" + wrong
            )
        if wrong := wrong or next(unreadable(snippet, name), ""):
            raise WrongSnippetError(wrong)
        if any(same(variant := wrong, result.printed) for wrong in wrong_variants(snippet.output)):
            raise WrongSnippetError(f"{name} could say this unnoticed:\n{variant}")

    def repr_failure(self, test, excinfo, style=None):
        """Show what is wrong, and nothing of how it was found."""
        return str(excinfo.value)
