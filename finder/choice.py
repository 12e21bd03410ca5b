"""Choice: which files are read, which findings count, and which were there before."""

import json
import re
import sys
from collections import Counter, namedtuple

from .rules import BASE, RULE

NUMBERS = {rule.number: rule for rule in RULE.values()}
LISTS_OF_TEXTS = ("select", "ignore", "exclude")
SETTINGS = {*LISTS_OF_TEXTS, "baseline", "since", "target"}
NOQA = re.compile(r"#\s*noqa\b(?::\s*(?P<codes>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*))?", re.I)


class Choice(namedtuple("Choice", "select ignore exclude baseline since target folder")):
    """What is asked for: codes or their beginnings, patterns of paths, a baseline, releases.

    The patterns are those of paths in `folder`.
    """

    def wants(self, found, line):
        """Tell whether a finding counts, of which `line` is the text."""
        quiet = NOQA.search(line)
        if quiet and found.code in re.findall(r"\w+", (quiet["codes"] or found.code).upper()):
            return False
        gone = release(NUMBERS[found.code].gone_since)
        if gone <= release(self.since or "1.0") or gone > release(self.target or "99.0"):
            return False
        chosen = not self.select or found.code.startswith(tuple(self.select))
        return chosen and not found.code.startswith(tuple(self.ignore) or ("-",))

    def excludes(self, path):
        """Tell whether a path, or a part of it, fits one of the patterns to leave out."""
        import os
        from fnmatch import fnmatch

        inner = path_from_here(path, self.folder)
        parts = [os.path.abspath(path), inner, *inner.split("/")]
        patterns = map(os.path.normpath, self.exclude)
        return any(fnmatch(part, one) for one in patterns for part in parts)


def path_from_here(path, folder=""):
    """Return a path as it is from a folder, or from the one where one stands, if it is below."""
    import os

    whole, above = os.path.abspath(path), os.path.join(folder or os.getcwd(), "")
    return (whole[len(above) :] if whole.startswith(above) else path).replace(os.sep, "/")


def release(text):
    """Return a release as numbers.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(text, str) or not re.fullmatch(r"\d+\.\d+(\.\d+)?", text):
        raise ValueError(f'{text!r} is no release; write it as "2.10"')
    return [int(part) for part in text.split(".")[:2]]


def made_choice(asked):
    """Return the choice of a command line and, behind it, of pyproject.toml.

    Raises:
        ValueError: It names a code, a release or a setting that there is not.
    """
    import os

    told, file = project_settings()
    for name, value in told.items():
        wrong_setting(name, value, file)
    values = {name: getattr(asked, name) or told.get(name) or [] for name in SETTINGS}
    folder = os.path.dirname(file)
    if told.get("baseline") and not asked.baseline:
        values["baseline"] = os.path.join(folder, told["baseline"])
    for name in LISTS_OF_TEXTS:
        given = [values[name]] if isinstance(values[name], str) else values[name]
        values[name] = [one.strip() for one in ",".join(given).split(",") if one.strip()]
    values["folder"] = os.getcwd() if asked.exclude else folder
    for one in values["select"] + values["ignore"]:
        if not any(number.startswith(one) for number in NUMBERS):
            raise ValueError(f"{one} is no code; see them all: --explain all")
    for one in filter(None, (values["since"], values["target"])):
        release(one)
    return Choice(**values)


def wrong_setting(name, value, file):
    """Refuse a setting that there is not, or that holds something else.

    Raises:
        ValueError: It says which, and in which file.
    """
    if name not in SETTINGS:
        raise ValueError(f"{file}: {name} is no setting; there are {', '.join(sorted(SETTINGS))}")
    if name in ("since", "target"):
        try:
            release(value)
        except ValueError as error:
            raise ValueError(f"{file}: {name}: {error}") from None
    listed = name in LISTS_OF_TEXTS
    texts = value if listed and isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in texts):
        what = "a list of texts" if listed else "a text"
        raise ValueError(f"{file}: {name} is {value!r}; it must be {what}")


def project_settings():
    """Return what the pyproject.toml here, or above, says to this program, and its name."""
    import os

    folder = os.getcwd()
    while not os.path.exists(os.path.join(folder, "pyproject.toml")):
        if folder == os.path.dirname(folder):
            return {}, ""
        folder = os.path.dirname(folder)
    file = os.path.join(folder, "pyproject.toml")
    with open(file, "rb") as opened:
        data = opened.read()
    if b"find-tf-gradients" not in data:
        return {}, file
    try:
        import tomllib
    except ImportError:
        if re.search(rb"^[^#\n]*\bfind-tf-gradients[\"']?\s*[]=.]", data, re.M):
            why = "not read, which takes Python 3.11; give options instead"
            print(f"{file}: {why}", file=sys.stderr)
        return {}, file
    try:
        told = tomllib.loads(data.decode("utf-8")).get("tool", {}).get("find-tf-gradients", {})
        return dict(told.items()), file
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{file}: {error}") from None


def finding_key(found, baseline):
    """Return by what a finding is known again, from whatever folder, when lines are added."""
    import os

    path = os.path.relpath(found.path, os.path.dirname(os.path.abspath(baseline)))
    return [path.replace("\\", "/"), found.code, found.call]


def without_known(findings, baseline):
    """Return the findings that a baseline does not have, each as often as it comes."""
    left, new = Counter(map(tuple, read_baseline(baseline))), []
    for found in findings:
        key = tuple(finding_key(found, baseline))
        left[key] -= 1
        if left[key] < 0:
            new.append(found)
    return new


def read_baseline(path):
    """Return the findings that a file holds.

    Raises:
        ValueError: There is none, or it is no baseline.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return [[*map(str, one)] for one in json.load(file)["findings"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{path}: no baseline; write it with --write-baseline") from None


def write_baseline(path, findings):
    """Write the fingerprints of findings to a file, a line each."""
    lines = ",\n".join(json.dumps(finding_key(one, path)) for one in findings)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{{"findings": [\n{lines}\n]}}\n')


def explained_code(number):
    """Return what a code stands for; of `all`, a line for each.

    Raises:
        ValueError: There is no such code.
    """
    if number == "all":
        lines = (f"{one}  {NUMBERS[one].verdict:<8} {NUMBERS[one].id}" for one in sorted(NUMBERS))
        return "\n".join(lines)
    if number not in NUMBERS:
        raise ValueError(f"{number} is no code; see them all: --explain all")
    rule = NUMBERS[number]
    verdict = "trap" if rule.trap else rule.verdict
    lines = [f"{number}  {rule.id}: {verdict}", "  write: " + rule.write]
    forms = [*rule.names, *(f".{one}()" for one in rule.methods)]
    lines += ["  found as: " + ", ".join(forms)] * bool(forms)
    lines += [f"  {name}: {fate.verdict}; {fate.write}" for name, fate in rule.arguments.items()]
    lines += [f"  gone since: TensorFlow {rule.gone_since}"] * (rule.gone_since != "2.0")
    return "\n".join([*lines, "  see: " + BASE + rule.page]).replace("`", "")
