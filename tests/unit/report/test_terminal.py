"""The text form: each message in full, below a line that counts them."""

import torch

from monograph import export, report
from tests.unit.report import sample


def test_every_message_is_shown_as_it_is_raised():
    """What the error prints stands in the report, but for the call that explains it."""
    error = sample.error()
    shown = report.as_text(error)
    assert shown.startswith("4 problems\n")
    for problem in error.problems:
        assert problem.text() in shown


def test_a_draft_says_what_it_assumes():
    """Each problem ends with what is assumed, and whether that is checked."""
    shown = report.as_text(sample.draft())
    assert shown.count("(checked at run time)") == 3
    assert shown.count("(not checked)") == 1


def test_colour_changes_no_character():
    """Without its escapes, the coloured text is the plain one."""
    colored = report.as_text(sample.error(), color=True)
    plain = colored
    for code in ("\x1b[1;31m", "\x1b[34m", "\x1b[32m", "\x1b[1m", "\x1b[0m"):
        plain = plain.replace(code, "")
    assert colored != plain == report.as_text(sample.error())


def test_nothing_is_said_of_nothing():
    """A program without findings says so."""
    program = export(torch.nn.ReLU(), (torch.rand(2),))
    assert report.as_text(program.report) in {"nothing to report\n", report.as_text(program)}
