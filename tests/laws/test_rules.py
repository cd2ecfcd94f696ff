"""Every rule gives what eager gives: for the example's sizes, with symbols, and at other sizes."""

import pytest
import torch

from tests.laws.rule_check import load_rules, op_samples, own_samples, report, sweep, unsampled

pytestmark = pytest.mark.laws


@pytest.fixture(autouse=True)
def _all_rules():
    load_rules()


def test_rules_agree_with_eager_and_each_has_a_sample():
    """The first samples of each operator in PyTorch's database, and every rule's own."""
    outcome = sweep([*own_samples(), *op_samples([torch.float32], 2)])
    assert not outcome.mismatches, f"\n{report(outcome)}"
    missing = unsampled(outcome)
    assert not missing, f"add a call to tests/laws/samples/<family>.py for {missing}"


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
def test_convolutions_agree_where_onednn_does_not_compute():
    """As on a processor without instructions for halves, or where `enabled` is False."""
    with torch.backends.mkldnn.flags(enabled=False):
        outcome = sweep(s for s in own_samples() if "/convolution.py" in s[0])
    assert outcome.calls["aten.conv3d.default"]
    assert not outcome.mismatches, f"\n{report(outcome)}"


USUAL = (torch.float32, torch.int64, torch.bool, torch.complex64)
RARER = (torch.float64, torch.float16, torch.bfloat16, torch.complex128, torch.uint8, torch.int8)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "count"), [*((d, 12) for d in USUAL), *((d, 4) for d in RARER)])
def test_rules_agree_with_eager_at_length(dtype, count):
    """Many samples of each operator, per dtype."""
    outcome = sweep(op_samples([dtype], count))
    assert not outcome.mismatches, f"\n{report(outcome)}"
