"""The miniature: `docs/miniature.py` is short, and what it exports is right at other sizes."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

SOURCE = Path(__file__).parents[2] / "docs" / "miniature.py"


class Mixer(nn.Module):
    """Rows mixed by how alike they are, over any batch and length."""

    def __init__(self):
        super().__init__()
        self.rows, self.out = nn.Linear(8, 16), nn.Linear(8, 8)

    def forward(self, x):
        """f32[batch, length, 8] -> f32[batch, length, 8]."""
        batch, length, width = x.shape
        rows = self.rows(x).reshape(batch, 2 * length, width)
        rows = torch.cat([rows, x * 0.5], dim=1)
        weights = torch.softmax(torch.matmul(x, rows.transpose(1, 2)), dim=-1)
        mixed = torch.matmul(weights, rows)
        if length > 100:
            return mixed
        return torch.relu(self.out(mixed)) + x.sum([0])


@pytest.fixture(scope="module")
def miniature():
    """The file as a module of its own."""
    spec = importlib.util.spec_from_file_location("miniature", SOURCE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setitem(sys.modules, "miniature", module)
    spec.loader.exec_module(module)
    yield module
    monkeypatch.undo()


@pytest.fixture(scope="module")
def exported(miniature):
    """A model, and the program that an example of five rows gave."""
    model = Mixer()
    dynamic = ({0: "batch", 1: "length"},)
    return model, miniature.export(model, (torch.randn(3, 5, 8),), dynamic)


def test_it_is_read_in_one_sitting():
    """At most 400 lines."""
    assert len(SOURCE.read_text().splitlines()) <= 400


@pytest.mark.parametrize("shape", [(2, 7, 8), (1, 100, 8), (4, 2, 8), (1, 2, 8)])
def test_the_program_equals_the_model_at_other_sizes(exported, shape):
    """Sizes unlike the example's, up to where the guard begins."""
    model, program = exported
    x = torch.randn(shape)
    torch.testing.assert_close(program(x), model(x))


@pytest.mark.parametrize(
    ("x", "why"),
    [
        (torch.ones(2, 101, 8), "length"),
        (torch.ones(2, 5, 9), "a size of 9"),
        (torch.ones(5, 8), "expected"),
        (torch.ones(2, 5, 8, dtype=torch.float64), "expected"),
    ],
)
def test_other_calls_are_refused(miniature, exported, x, why):
    """What the graph was not made for raises before any operator runs."""
    with pytest.raises(miniature.RefusedError, match=why):
        exported[1](x)


def test_a_guard_names_the_line_of_the_model(exported):
    """`length > 100` was asked in this file."""
    guards = exported[1].facts.guards
    assert any("length" in str(guard) and "test_miniature.py" in guards[guard] for guard in guards)


def test_sizes_that_are_equal_for_all_values_are_one_number(miniature):
    """The normal form decides, and no guard is left behind."""
    n, m = miniature.as_int("n"), miniature.as_int("m")
    assert ((n + 1) * m - m).terms == (n * m).terms
    facts = miniature.Facts(example={"n": 3, "m": 4})
    assert facts.known(miniature.Relation(">=", (n * m + 2).terms))
    assert not facts.known(miniature.Relation("==", (n * m + 2).terms))
    assert facts.known(miniature.Relation("==", (n - m).terms)) is None


class Branches(nn.Module):
    """Asks a tensor for a truth value."""

    def forward(self, x):
        """f32[n, 8] -> f32[n, 8]."""
        return x if x.sum([0, 1]) else x + 1


class Adds(nn.Module):
    """Sizes that agree in no call."""

    def forward(self, x):
        """f32[n, 8] -> refused."""
        return x + torch.cat([x, x], dim=1)


@pytest.mark.parametrize(("model", "why"), [(Branches(), "depends on data"), (Adds(), "disagree")])
def test_other_programs_are_refused_with_their_line(miniature, model, why):
    """Data decides, or sizes cannot agree."""
    with pytest.raises(miniature.RefusedError, match=rf"{why}.*test_miniature.py:\d+"):
        miniature.export(model, (torch.ones(3, 8),), ({0: "n"},))
