"""Captured branches and loops are shown as Python, with the user's lines."""

import textwrap

import torch
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops import map as torch_map

import monograph


class Choosing(torch.nn.Module):
    """A branch on data, in it another."""

    def forward(self, x):
        """Compute."""
        if x.sum() > 0:
            y = x + 1
            if y[0] > 5:
                y = y * 2
        else:
            y = x - 1
        return y


def shown(module, *args):
    """The text, without comments."""
    text = monograph.export(module, args).explain_control_flow()
    return "\n".join(line.partition("  #")[0].rstrip() for line in text.splitlines())


def test_a_branch_in_a_branch():
    """As `if` and `else`; what either gives is the operator's result."""
    assert shown(Choosing(), torch.ones(3)).partition("\n#     ")[2] == textwrap.dedent(
        """\
        if x.sum() > 0:
        if gt:
            add: f32[3] = aten.add(x, 1)
            select: f32[] = aten.select(add, 0, 0)
            gt_1: b8[] = aten.gt(select, 5)
            if gt_1:
                mul: f32[3] = aten.mul(add, 2)
                cond = (mul,)
            else:
                clone: f32[3] = aten.clone(add)
                cond = (clone,)
            getitem = cond[0]
            cond_1 = (getitem,)
        else:
            sub: f32[3] = aten.sub(x, 1)
            cond_1 = (sub,)"""
    )


def test_lines_of_the_user_stand_beside():
    """Each where it is another than above."""
    text = monograph.export(Choosing(), (torch.ones(3),)).explain_control_flow()
    assert "test_control_flow_text.py" in text
    (line,) = [each for each in text.splitlines() if "aten.add" in each]
    assert line.endswith("y = x + 1")


def test_a_loop_asks_what_it_carries():
    """A `while` on data is one."""

    class Halving(torch.nn.Module):
        def forward(self, x):
            while x.sum() > 1:
                x = x / 2
            return x

    text = shown(Halving(), torch.ones(3))
    assert "\nwhile carried" in text
    assert "aten.div" in text.partition("\nwhile carried")[2]


def test_operators_of_torch():
    """Those that users call, too."""

    class Calls(torch.nn.Module):
        def forward(self, x):
            n, x = while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (torch.tensor(0), x))
            last, sums = scan(lambda a, b: (a + b, a * b), torch.zeros(3), x)
            sums = sums + associative_scan(torch.add, x, 0, combine_mode="generic")
            return n, last, torch_map(lambda row: row + 1, sums)

    text = shown(Calls(), torch.ones(4, 3))
    for words in ("while True:", "if not goes_on:", "scan[...]", "map_impl[...]", "for "):
        assert words in text, text


def test_none():
    """A program without says so."""
    program = monograph.export(torch.nn.Linear(2, 2), (torch.ones(2),))
    assert program.explain_control_flow() == "no branch or loop was captured\n"


def test_after_loading(tmp_path):
    """A saved program is explained alike."""
    program = monograph.export(Choosing(), (torch.ones(3),))
    monograph.save(program, tmp_path / "x.pt2")
    again = monograph.load(tmp_path / "x.pt2")
    assert again.explain_control_flow() == program.explain_control_flow()
