"""What an export leaves behind: nothing of the user's."""

from __future__ import annotations

import gc
import weakref

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


def test_sixty_exports_of_fresh_classes_keep_no_code_alive():
    """Code objects, classes and modules of users go with their programs."""
    alive = []
    for _ in range(60):
        scope = {"__name__": "fresh"}
        exec(SOURCE, scope)
        kind = scope["Model"]
        model = kind()
        monograph.export(model, (torch.randn(2, 3),))
        alive += [weakref.ref(each) for each in (kind, kind.forward.__code__, model)]
    del scope, kind, model
    gc.collect()
    assert not [reference for reference in alive if reference() is not None]
