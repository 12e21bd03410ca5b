"""What releases printed is kept in files, and read back as it was."""

import json

import pytest

from checks.snippets import load_examples
from releases import data

NAMES = ["errors/none/add_n.md", "errors/none/add_zeros.md", "tape/watch/after_gradient.md"]
EXAMPLES = {name: one for name, one in load_examples().items() if name in NAMES}
DIGESTS = {name: one.digest for name, one in EXAMPLES.items()}
SEEN = {
    (name, release): ("differs", f"{name} prints é") if release == "2.4.4" else ("same", "")
    for name in NAMES
    for release in ("2.10.1", "2.4.4", "2.9.3")
}


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    """Write the data into a folder of the test's own, and return it."""
    monkeypatch.setattr(data, "DATA", tmp_path)
    data.save(SEEN, DIGESTS)
    return tmp_path


def test_what_is_saved_is_loaded(data_folder):
    """Examples of one folder share a file, in which releases are in order."""
    assert data.load_outcomes(data_folder, EXAMPLES) == SEEN
    files = {str(file.relative_to(data_folder)) for file in data_folder.rglob("*.*")}
    assert files == {"errors/none.json", "tape/watch.json"}
    outcomes = json.loads((data_folder / "tape/watch.json").read_text("utf-8"))[NAMES[2]][
        "outcomes"
    ]
    assert outcomes["same"] == {"": "2.9.3 2.10.1"}


def test_data_of_a_deleted_example_go(data_folder):
    """A folder without examples keeps no file."""
    data.save({key: SEEN[key] for key in SEEN if key[0] != NAMES[2]}, DIGESTS)
    assert [file.name for file in data_folder.rglob("*.json")] == ["none.json"]


def test_changed_example_is_not_loaded(data_folder):
    """What an older form of an example printed is not shown."""
    digests = DIGESTS | {NAMES[0]: "another"}
    data.save(SEEN, digests)
    assert {name for name, _ in data.load_outcomes(data_folder, EXAMPLES)} == set(NAMES[1:])


def test_broken_file_is_named(data_folder):
    """As a merge leaves it: the message says which file, and what to do."""
    (data_folder / "tape/watch.json").write_text("<<<<<<< ours\n", "utf-8")
    with pytest.raises(ValueError, match=r"tape/watch\.json: .* Delete the file and replay it"):
        data.stored(data_folder)
