"""Which calls draw random numbers: the table of random operators says what eager does."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from monograph.abstract.randomness import draws, is_random
from tests.laws.rule_check import op_samples

pytestmark = pytest.mark.laws

aten = torch.ops.aten
X = torch.randn(3, 4)


class Watch(TorchDispatchMode):
    """Compares each operator that it is told of with the table."""

    def __init__(self):
        super().__init__()
        self.faults = set()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = torch.get_rng_state()
        result = func(*args, **(kwargs or {}))
        drew = not torch.equal(before, torch.get_rng_state())
        if drew:
            self.seen.add(func)
        if drew is not draws(func, args, kwargs or {}) and (drew or has_elements(args)):
            self.faults.add(str(func))
        return result


def has_elements(args):
    """Whether there is something to draw for."""
    return all(each.numel() for each in args if isinstance(each, torch.Tensor))


@pytest.mark.slow
def test_the_table_says_what_draws():
    """Every operator that PyTorch's samples reach, in eager."""
    watch = Watch()
    with torch.random.fork_rng(devices=[]):
        for _, sample in op_samples([torch.float32], 4):
            try:
                with watch:
                    sample()
            except Exception:  # noqa: BLE001 - samples that eager refuses say nothing
                continue
    assert watch.faults == set()
    assert len(watch.seen) > 10


CALLS = {
    "all dropped": (aten.dropout.default, (X, 1.0, True)),
    "none dropped": (aten.dropout.default, (X, 0.0, True)),
    "some dropped": (aten.dropout.default, (X, 0.5, True)),
    "in evaluation": (aten.dropout.default, (X, 0.5, False)),
    "in place": (aten.dropout_.default, (X.clone(), 1.0, True)),
    "of channels": (aten.feature_dropout.default, (X, 1.0, True)),
    "kernel, all": (aten.native_dropout.default, (X, 1.0, True)),
    "kernel, in evaluation": (aten.native_dropout.default, (X, 0.5, False)),
    "idle rrelu": (aten.rrelu.default, (X,)),
    "rrelu": (aten.rrelu.default, (X, 0.1, 0.3, True)),
    "sure": (aten.bernoulli.p, (X, 1.0)),
    "one of one": (aten.randint.default, (1, [3])),
    "attention, all": (aten.scaled_dot_product_attention.default, (X[None],) * 3 + (None, 1.0)),
    "attention, some": (aten.scaled_dot_product_attention.default, (X[None],) * 3 + (None, 0.5)),
    "no draw": (aten.add.Tensor, (X, X)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    """Those whose arguments decide it."""
    overload, args = CALLS[name]
    with torch.random.fork_rng(devices=[]):
        before = torch.get_rng_state()
        overload(*args)
        assert draws(overload, args, {}) is not torch.equal(before, torch.get_rng_state())
    assert is_random(overload) or name == "no draw"
