"""What an export leaves behind: nothing of the user's."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import monograph

SOURCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        n = 0
        while n < 3:
            n += 1
        try:
            raise KeyError(n)
        except KeyError:
            pass
        if x.sum() > 0:
            y = self.linear(x)
        else:
            y = x * 2
        if y.sum() > 3:
            return y + 1
        return y * len([v for v in (1, 2)])
"""


@pytest.mark.parametrize("strict", [True, False])
def test_exports_of_fresh_classes_keep_nothing_alive(strict):
    """Code objects, classes, modules and tensors of users go with their programs: 300 times."""
    source = SOURCE if strict else SOURCE.replace("x.sum() > 0", "n").replace("y.sum() > 3", "n")
    alive = []
    for _ in range(150):
        scope = {"__name__": "fresh"}
        exec(source, scope)
        kind = scope["Model"]
        model, x = kind(), torch.randn(2, 3)
        monograph.export(model, (x,), strict=strict)
        held = (kind, kind.forward.__code__, model, model.linear.weight, x)
        alive += [weakref.ref(each) for each in held]
    del scope, kind, model, x, held
    gc.collect()
    assert not [reference() for reference in alive if reference() is not None]
