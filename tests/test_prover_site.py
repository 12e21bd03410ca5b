"""The site's own training programs are the same, old and new; and their silent traps are named."""

import pytest

from trials.site import PRINTED, PROGRAMS, reports_on


@pytest.mark.parametrize("program", PROGRAMS, ids=[one.old for one in PROGRAMS])
def test_site_program_is_the_same(program, tmp_path):
    """As it stands it is the same; with a trap it differs, and the report names the trap."""
    reports = reports_on(program, tmp_path)
    assert reports.pop(None).verdict == "the same"
    for cause, report in reports.items():
        assert report.verdict == "differs", cause
        assert report.cause, f"{cause}: no cause named"
        assert report.cause.key == cause


def test_page_shows_every_site_program():
    """The table has each program and each trap, with the cause named."""
    text = PRINTED.read_text("utf-8")
    for program in PROGRAMS:
        assert program.old.removesuffix("graph").rstrip("/_") in text, "python -m trials.site"
        for cause in program.traps:
            assert text.count(f" {cause} ") >= 1, "python -m trials.site"
