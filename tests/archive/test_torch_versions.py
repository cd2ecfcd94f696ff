"""Files that were written under one version of PyTorch load under every other.

`python -m tests.archive.test_torch_versions` adds those of the version that runs; those of 2.13
are in `fixtures/format_1`, too.
"""

import io
from pathlib import Path

import pytest
import torch

import monograph
from monograph.host.versions import VERIFIED, version
from tests.archive import test_fixtures
from tests.archive.peers import loaded_there

FOLDER = Path(__file__).parent / "fixtures" / "torch"
FILES = sorted(FOLDER.glob("*/*.pt2"))


class Peer(torch.nn.Module):
    """What stock PyTorch writes to its own file: a size that varies, and state."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(12.0).view(4, 3))
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight, self.shift).relu().sum(0)


def peer() -> bytes:
    """A file of stock PyTorch."""
    file, dims = io.BytesIO(), {"x": {0: torch.export.Dim("rows", min=2, max=50)}}
    torch.export.save(torch.export.export(Peer(), (torch.ones(5, 3),), dynamic_shapes=dims), file)
    return file.getvalue()


def ours(name: str) -> bytes:
    """A file of this version."""
    file = io.BytesIO()
    monograph.save(test_fixtures.PROGRAMS[name](), file)
    return file.getvalue()


def names_of(path: Path) -> tuple[str, str]:
    """The version of PyTorch that wrote a file, and the program."""
    return path.parent.name, path.stem


def test_each_verified_version_has_files():
    """And nothing else has."""
    assert {path.parent.name for path in FILES} == set(VERIFIED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(names_of(path)))
def test_a_file_of_another_version_means_what_it_meant(path):
    """It answers as the program made today, and as eager code; stock reads ours."""
    name = path.stem
    again = monograph.load(path)
    if name == "stock":
        given = (torch.linspace(-3, 3, 21).view(7, 3),)
        torch.testing.assert_close(again.module()(*given), Peer()(*given))
        return
    given = test_fixtures.inputs_of(name)
    left = torch.utils._pytree.tree_leaves(test_fixtures.PROGRAMS[name]().module()(*given))
    right = torch.utils._pytree.tree_leaves(again.module()(*given))
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(other, one)
    with pytest.raises(monograph.ContractError):
        again.module()(*given[:-1], "text")
    if name != "sizes":  # floats that differ between calls have no form there
        loaded_there(path.read_bytes())


if __name__ == "__main__":
    (FOLDER / version()).mkdir(parents=True, exist_ok=True)
    for each, made in {"stock": peer(), **{n: ours(n) for n in ("sizes", "lowered")}}.items():
        (FOLDER / version() / f"{each}.pt2").write_bytes(made)
