"""Law: which results get no history is what torchgen's `derivatives.yaml` and the kernels say."""

import importlib.resources
import re

import pytest
import torch

import monograph
from monograph.abstract.differentiability import LIKE, WITHOUT_HISTORY

INTEGERS_OR_UNKNOWN = re.compile(
    r"^(any|all|count_nonzero|.*indices|sort|topk|hash_tensor|_?unique.*|_values|eq|ge|gt|le|lt|ne"
    r"|adaptive_max_pool.*|fractional_max_pool.*|max_pool.*|multinomial|nonzero|_to_copy|view"
    r"|linalg_inv_ex|linalg_lu_factor_ex|_sparse.*|.*_(mps|rnn|rnn_layer)|.*(flash|efficient|cudnn)_"
    r"attention_forward|.*cudnn_attention|.*overrideable|_thnn_fused_lstm_cell|_new_zeros.*|_effic.*)$"
)
"""Results there are integers or booleans, or the operator is of another device or of tests."""


def declared() -> dict[str, list[bool]]:
    """What torchgen's table says, by the operator's name."""
    folder = importlib.resources.files("torchgen") / "packaged" / "autograd"
    text = (folder / "derivatives.yaml").read_text(encoding="utf-8")
    found, name = {}, ""
    for line in text.splitlines():
        begins = re.match(r"- name: (\w+)", line)
        name = begins[1] if begins else name
        says = re.search(r"output_differentiability: \[([TrueFals, ]+)\]", line)
        if says:
            found[name] = [each.strip() == "True" for each in says[1].split(",")]
    return found


def test_the_table_is_that_of_torchgen():
    """Each entry with results that are not is in ours, with the same places, or is no float."""
    for name, places in declared().items():
        without = {place for place, has in enumerate(places) if not has}
        if not INTEGERS_OR_UNKNOWN.match(name):
            assert without <= set(WITHOUT_HISTORY.get(name, ())), name


MADE = {
    **{
        f"{name}": lambda x, name=name: getattr(torch, name)(x)
        for name in sorted(LIKE - {"full_like", "randint_like"})
    },
    "full_like": lambda x: torch.full_like(x, 2.0),
    "new_zeros": lambda x: x.new_zeros(3),
    "new_ones": lambda x: x.new_ones(3),
    "new_empty": lambda x: x.new_empty(3),
    "new_full": lambda x: x.new_full((3,), 1.0),
    "new_empty_strided": lambda x: x.new_empty_strided((3,), (1,)),
    "histc": torch.histc,
    "bincount": lambda x: torch.bincount(torch.tensor([0, 1, 2]), x),
    "sign": torch.sign,
    "frexp": torch.frexp,
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "batch_norm": lambda x: torch.native_batch_norm(
        x[None, :, None], None, None, None, None, True, 0.1, 1e-5
    ),
    "layer_norm": lambda x: torch.native_layer_norm(x, (3,), None, None, 1e-5),
    "group_norm": lambda x: torch.native_group_norm(x[None, :, None], None, None, 1, 3, 1, 3, 1e-5),
    "lstsq": lambda x: tuple(torch.linalg.lstsq(x.diag() + 1, x[:, None])),
    "lu": lambda x: tuple(torch.linalg.lu(x.diag() + 1)),
    "lu_unpack": lambda x: torch.lu_unpack(*torch.linalg.lu_factor(x.diag() + 1)),
    "svd": lambda x: tuple(torch.linalg.svd(x.diag())),
    "slogdet": lambda x: tuple(torch.linalg.slogdet(x.diag())),
    "multinomial": lambda x: torch.multinomial(x.sigmoid(), 2),
    "histogram": lambda x: tuple(torch.histogram(x, 3)),
    "std_mean": torch.std_mean,
    "cummax": lambda x: torch.cummax(x, 0),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.filterwarnings("ignore")
def test_flags_are_those_of_the_kernels(made):
    """User code that asks each result for `requires_grad` is told what eager code is told."""

    class Asks(torch.nn.Module):
        def forward(self, x):
            results = made(x)
            results = results if isinstance(results, tuple) else (results,)
            flags = [each.requires_grad for each in results]
            return torch.ones(1) * sum(2**place for place, flag in enumerate(flags) if flag)

    x = torch.rand(3, requires_grad=True)
    program = monograph.export(Asks(), (x,))
    assert torch.equal(program.module()(x), Asks()(x))
