"""Notebooks show a program compactly and safely."""

from html.parser import HTMLParser

import numpy as np
import torch

import monograph
from monograph.program.html import summary


class Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_well_formed(program):
    """Every tag is closed, code is folded away, and user text is escaped."""
    text = program._repr_html_()
    parser = Balance()
    parser.feed(text)
    assert not parser.open
    assert "<details><summary>code</summary>" in text
    assert "batch[&#x27;mask&#x27;]" in text
    assert "f32[batch, 3]" in text


def test_summary(program):
    """The first line says how large the program is."""
    assert summary(program) == "6 operators, 15 parameters"


class Branches(torch.nn.Module):
    def forward(self, x, names):
        y = x * 2
        return y + len(names["<b>"])


class Reads(torch.nn.Module):
    def forward(self, x):
        return x + float(np.median(x.numpy()))


def exported():
    """A program with a size that varies."""
    layer = torch.nn.Linear(3, 4)
    return monograph.export(layer, (torch.ones(2, 3),), dynamic_shapes="input: n, 3")


def test_a_program_in_one_line():
    """How large it is, and what it takes; of a contract, its inputs, ranges, and how much else."""
    program = exported()
    assert repr(program).startswith("<ExportedProgram 1 operators, 16 parameters; input: f32[n, 3]")
    assert repr(program.contract).startswith("<Contract input: f32[n, 3]; n: 0 …")
    assert "\n" not in repr(program)


def test_what_is_half_made_is_shown():
    """A debugger asks for it at any time."""
    bare = object.__new__(monograph.ExportedProgram)
    assert repr(bare).startswith("<monograph.program.program.ExportedProgram object")


def test_notebooks_show_tables_without_markup_of_others():
    """Texts of users are escaped; what has nothing to say takes no room."""
    program = monograph.export(Branches(), (torch.ones(2), {"<b>": [torch.ones(1)]}))
    page = program.contract._repr_html_()
    assert "f32[2]" in page
    assert "<b>" not in page
    assert "report" not in program._repr_html_()
    assert exported().report._repr_html_() == "<div><b>nothing to report</b></div>"


def test_a_draft_shows_its_problems():
    """Folded beneath the program, and by its report alone."""
    draft = monograph.draft_export(Reads(), (torch.ones(3),))
    assert draft.report.problems
    assert "report (1 problem)" in draft._repr_html_()
    assert draft.report.problems[0].name in draft.report._repr_html_()
