"""Files of every format version are read for ever: see `fixtures/`, which is never rewritten.

A new format version adds a folder, made by `python -m tests.archive.test_fixtures format_<n>`.
"""

import io
import sys
from pathlib import Path

import pytest
import torch

import monograph
from monograph.archive.errors import Refused
from monograph.archive.versions import FORMAT, UPGRADES, upgrade, upgraded
from tests.archive import hostile
from tests.archive.peers import loaded_there
from tests.seeding import reseed

FOLDER = Path(__file__).parent / "fixtures"


class Sizes(torch.nn.Module):
    """Named sizes, a relation between them, a branch, and arithmetic of all kinds."""

    def forward(self, x, y, n, scale):
        if x.shape[0] > 2:
            x = x * scale
        count = max(x.shape[0] // 2, 1) + n
        return torch.cat([x, y[: x.shape[0]]], 1), x.new_ones(count), x.shape[0] / 3 + scale


def sizes():
    """Export `Sizes`."""
    rows, columns = monograph.Dim("rows", min=3, max=100), monograph.Dim("columns", min=1)
    return monograph.export(
        Sizes(),
        (torch.ones(6, 3), torch.ones(12, 4), 5, 0.5),
        dynamic_shapes={
            "x": {0: rows, 1: columns},
            "y": {0: 2 * rows},
            "n": monograph.Dim.DYNAMIC,
            "scale": monograph.Dim.DYNAMIC,
        },
    )


def state():
    """Export the model of the hostile suite."""
    reseed(0)
    dims = {"x": {0: monograph.Dim("batch", max=64)}, "y": {0: monograph.Dim.AUTO}}
    return monograph.export(hostile.Model(), hostile.example(), dynamic_shapes=dims)


def lowered():
    """Export batch normalisation in training, lowered."""
    reseed(0)
    model = torch.nn.BatchNorm1d(3)
    return monograph.export(model, (torch.arange(12.0).view(4, 3),)).run_decompositions()


PROGRAMS = {"sizes": sizes, "state": state, "lowered": lowered}
FILES = sorted(FOLDER.glob("*/*.pt2"))


def inputs_of(name: str):
    """Give inputs unlike the example."""
    return {
        "sizes": (torch.arange(20.0).view(10, 2), torch.ones(20, 4), 3, 0.25),
        "state": (torch.arange(20.0).view(5, 4), torch.tensor([1, 2, 4])),
        "lowered": (torch.arange(12.0).view(4, 3) + 1,),
    }[name]


def test_there_is_a_folder_for_every_version():
    """Today's version has files, and so has each before it."""
    assert {path.parent.name for path in FILES} == {f"format_{n}" for n in range(1, FORMAT + 1)}


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_an_old_file_means_what_it_meant(path):
    """It loads, answers as the program made today, refuses the same calls, and stock reads it."""
    program = PROGRAMS[path.stem]()
    again = monograph.load(path)
    given = inputs_of(path.stem)
    left = torch.utils._pytree.tree_leaves(program.module()(*given))
    right = torch.utils._pytree.tree_leaves(again.module()(*given))
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(other, one)
    with pytest.raises(monograph.ContractError):
        again.module()(*given[:-1], "text")
    if path.stem != "sizes":  # floats that differ between calls have no form there
        loaded_there(path.read_bytes())


def test_upgraders_lead_from_each_version_to_the_next():
    """None is missing; they are applied one after the other; what is newer is refused."""
    assert set(UPGRADES) == set(range(1, FORMAT))
    try:
        upgrade(FORMAT)(lambda record: {**record, "steps": [*record.get("steps", []), FORMAT]})
        upgrade(FORMAT + 1)(lambda record: {**record, "steps": [*record["steps"], FORMAT + 1]})
        assert upgraded({"format": FORMAT}, FORMAT + 2) == {
            "format": FORMAT + 2,
            "steps": [FORMAT, FORMAT + 1],
        }
        with pytest.raises(ValueError, match="two upgraders"):
            upgrade(FORMAT)(lambda record: record)
    finally:
        for version in (FORMAT, FORMAT + 1):
            UPGRADES.pop(version, None)
    with pytest.raises(Refused):
        upgraded({"format": FORMAT + 1})


def write(folder: Path) -> None:
    """Write the files of a new version."""
    folder.mkdir(parents=True)
    for name, make in PROGRAMS.items():
        file = io.BytesIO()
        monograph.save(make(), file)
        (folder / f"{name}.pt2").write_bytes(file.getvalue())


if __name__ == "__main__":
    write(FOLDER / sys.argv[1])
