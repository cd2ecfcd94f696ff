"""People may read what stands for a tensor; user code may not."""

import logging
import warnings

import pytest
import torch
from torch import nn

from monograph import export
from monograph.diagnostics import MonographError

BOTH = pytest.mark.parametrize("strict", [True, False])


def exported(forward, strict):
    """Export a function of three numbers."""
    module = type("Model", (nn.Module,), {"forward": forward})()
    return export(module, (torch.ones(3),), strict=strict)


@BOTH
@pytest.mark.parametrize("text", [str, repr, "{}".format, lambda x: f"{x}", lambda x: "%s" % x])  # noqa: UP031  (all ways)
def test_text_of_a_tensor_is_refused(strict, text):
    """Its length is that of the example's values."""
    with pytest.raises(MonographError) as refused:
        exported(lambda self, x: x * len(text(x)), strict)
    assert refused.value.diagnostic.name == "value-read"


@BOTH
def test_people_read_what_a_tensor_is(strict, caplog, capsys):
    """Printed, logged and warned about, a tensor shows its type."""
    log = logging.getLogger("tests.texts")

    def forward(self, x):
        print("printed", [x])  # noqa: T201  (what is tested)
        log.warning("logged %s", x)
        warnings.warn(x.__class__.__name__, stacklevel=1)
        return x * 2

    with pytest.warns(UserWarning, match="Tensor"):
        program = exported(forward, strict)
    assert "float32" in capsys.readouterr().out
    assert "float32" in caplog.text
    assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 2.0))
    assert print.__module__ == "builtins"
