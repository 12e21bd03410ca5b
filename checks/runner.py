"""The runner of pytest-markdown-docs: run an example, compare it, and try wrong outputs on it."""

import difflib
from pathlib import Path

from pytest_markdown_docs._runners import DefaultRunner, register_runner

from checks import other_tensorflow, relative
from checks.compare import same, wrong_variants
from checks.snippets import read, write


class WrongSnippetError(Exception):
    """An example fails, or says something else than it prints."""


def pytest_addoption(parser):
    """Let `--update` write what an example prints into its output fence."""
    parser.addoption("--update", action="store_true", help="write the output fences")


def pytest_configure(config):
    """Tell the runner, which pytest-markdown-docs creates, about `--update`."""
    SnippetRunner.update = config.getoption("update")


def pytest_sessionfinish(session):
    """Stop the other processes, and hand the count to the process that started this one."""
    other_tensorflow.open_ones.close()
    if output := getattr(session.config, "workeroutput", None):
        output["wrong"] = SnippetRunner.wrong


def pytest_testnodedown(node):
    """Add up the counts of the processes that pytest-xdist started."""
    SnippetRunner.wrong += getattr(node, "workeroutput", {}).get("wrong", 0)


def pytest_terminal_summary(terminalreporter):
    """Say how many wrong outputs were tried."""
    if tried := SnippetRunner.wrong:
        terminalreporter.write_line(f"{tried} wrong outputs were tried, and all were noticed.")


@register_runner(default=True)
class SnippetRunner(DefaultRunner):
    """The runner of every python fence in `snippets/` and in the README."""

    update, wrong = False, 0

    # With the argument asyncio_runner, pytest-markdown-docs would run it again after a TypeError.
    def runtest(self, test, args):
        """Fail unless the fence prints what the output fence under it says, and nothing else."""
        path = Path(test.source_path)
        name, snippet = relative(path), read(path, output=not self.update)
        run = other_tensorflow.one_fifteen if snippet.old else other_tensorflow.here
        printed, error = run()(snippet.code, name)
        if error:
            raise WrongSnippetError(f"{name} fails.\n{error}")
        if same(snippet.output, printed):
            for variant in wrong_variants(snippet.output):
                if same(variant, printed):
                    raise WrongSnippetError(f"{name} could say this unnoticed:\n{variant}")
                SnippetRunner.wrong += 1
        elif self.update:
            write(path, printed)
        else:
            lines = snippet.output.splitlines(), printed.splitlines()
            diff = difflib.unified_diff(*lines, f"{name} says", "TensorFlow prints", lineterm="")
            raise WrongSnippetError(
                f"{name} prints something else.\n\n" + "\n".join(diff) + "\n\nIf TensorFlow is "
                f"right, accept it with: python3 noxfile.py -s snippets -- --update {name}"
            )

    def repr_failure(self, test, excinfo, style=None):
        """Show what is wrong, and nothing of how it was found."""
        return str(excinfo.value)
