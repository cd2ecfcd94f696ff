"""Programs print as torch prints them, character for character."""

import difflib
from types import SimpleNamespace

import pytest
import torch
from torch.utils._dtype_abbrs import dtype_abbrs

from monograph.abstract.tensor import make_tensor
from monograph.abstract.tensor_type import TensorType
from monograph.integers import Facts
from monograph.program.printing import DTYPES, dtype_text, readable, type_text


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x, y):
        z = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + 1, (x,))
        first, _ = x.split([1, 2], dim=1)
        return self.lin(z) + y["a"], x.shape[0], first


@pytest.fixture(scope="module")
def exported():
    """A program of torch.export, the peer."""
    args = (torch.ones(4, 3), {"a": torch.ones(4, 3)})
    auto = {0: torch.export.Dim.AUTO}
    return torch.export.export(Branches(), args, dynamic_shapes=(auto, {"a": auto}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("details", [False, True])
@pytest.mark.parametrize("as_module", [False, True])
def test_text_is_torchs(exported, details, as_module):
    """Graph, subgraphs, types, places, and strides and devices on request.

    But for blanks at the end of lines, which torch drops since 2.14.
    """
    module = exported.module() if as_module else exported.graph_module
    theirs = module.print_readable(
        print_output=False, include_stride=details, include_device=details
    )
    ours = readable(module, "GraphModule", with_strides=details, with_device=details)
    ours, theirs = ([line.rstrip() for line in each.split("\n")] for each in (ours, theirs))
    assert ours == theirs, "\n".join(difflib.ndiff(theirs, ours))


def test_dtypes_are_torchs():
    """Short names of dtypes are the ones torch uses, and unknown ones print in full."""
    assert {dtype: DTYPES.get(dtype) for dtype in dtype_abbrs} == dtype_abbrs
    assert dtype_text(torch.quint8) == "quint8"


def test_types_of_abstract_tensors():
    """Symbolic sizes print by the names of their symbols."""
    facts = Facts()
    n = facts.symbol("s0", hint=4)
    t = TensorType((n, 2 * n + 1, 3), torch.bfloat16, torch.device("cpu"))
    tensor = make_tensor(t, None, SimpleNamespace(facts=facts, dtype_asked=lambda _: None))
    assert type_text(tensor) == "bf16[s0, 2*s0 + 1, 3]"
    assert type_text(tensor.shape[0]) == "Sym(s0)"
    assert type_text((tensor, None)) == "(bf16[s0, 2*s0 + 1, 3], )"
    assert type_text("sum") == ""
