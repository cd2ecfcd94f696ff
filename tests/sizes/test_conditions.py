"""A condition on a size given where C++ takes a bool is decided, with a guard and its line."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import monograph
from monograph import ContractError, DataDependentError, Dim


def keeps(x):
    """A keyword of a reduction."""
    return x.sum(0, keepdim=x.shape[0] > 2)


def keeps_the_greatest(x):
    """Of one with several signatures."""
    return x.amax(0, keepdim=x.shape[0] != 7)


def largest(x):
    """Which end is wanted."""
    return torch.topk(x, 1, dim=0, largest=x.shape[0] > 2)


def drops(x):
    """Whether it is training."""
    return F.dropout(x, 1.0, x.shape[0] > 2)


def attends(x):
    """`and` gives its last operand back."""
    q = x[None, None]
    is_causal = x.shape[0] > 2 and x.shape[1] == 4 and x.shape[0] < 100
    return F.scaled_dot_product_attention(q, q, q, is_causal=is_causal)


def connects(x):
    """Two conditions at once."""
    return x.sum(0, keepdim=(x.shape[0] > 2) & (x.shape[1] > 1))


def halts(x):
    """A switch of the process."""
    with torch.set_grad_enabled(x.shape[0] > 2):
        return x * 2


def of_floats(x):
    """Floats of sizes."""
    return x.sum(0, keepdim=x.shape[0] / 2 > 1.0)


def is_known(x):
    """Nothing to decide."""
    return x.sum(0, keepdim=x.shape[0] >= 0)


def module_of(function):
    """A module with this forward."""
    return type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()


PROGRAMS = [
    keeps, keeps_the_greatest, largest, drops, attends, connects, halts, of_floats, is_known,
]  # fmt: skip


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("function", PROGRAMS)
def test_decided_with_a_guard(function, rows):
    """As a branch would be: right where the program accepts, and it says which line refuses."""
    module = module_of(function)
    program = monograph.export(module, (torch.randn(rows, 4),), dynamic_shapes=({0: Dim.AUTO},))
    line = function.__code__.co_firstlineno
    guards = [guard for guard in program.guards if guard.at]
    assert all(line < guard.at[0].line <= line + 5 for guard in guards)
    assert bool(guards) is (function is not is_known)
    taken = []
    for n in range(1, 9):
        x = torch.randn(n, 4)
        try:
            torch.testing.assert_close(program.module()(x), module(x))
        except ContractError:
            continue
        taken.append(n)
    assert rows in taken


def test_conditions_on_data_are_refused_by_name():
    """There is no example to decide by."""

    def depends(x):
        return x.sum(0, keepdim=x.sum().int().item() > 2)

    with pytest.raises(DataDependentError) as refused:
        monograph.export(module_of(depends), (torch.randn(3, 4),))
    assert refused.value.diagnostic.name == "data-dependent-branch"
    assert "keepdim=x.sum().int().item() > 2" in str(refused.value)


def test_checks_on_data_stay_open():
    """While sizes are decided, a check on data is one that runs."""

    def checks(x, count):
        n = count.item()
        torch._check(n > 2)
        return x.sum(0, keepdim=x.shape[0] > 2) * n

    program = monograph.export(
        module_of(checks), (torch.randn(3, 4), torch.tensor(5)), dynamic_shapes=({0: Dim.AUTO}, {})
    )
    x = torch.randn(6, 4)
    torch.testing.assert_close(program.module()(x, torch.tensor(4)), x.sum(0, keepdim=True) * 4)
    with pytest.raises(RuntimeError, match="does not hold"):
        program.module()(x, torch.tensor(1))
