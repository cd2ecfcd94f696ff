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


USUAL = (torch.float32, torch.int64, torch.bool, torch.complex64)
RARER = (torch.float64, torch.float16, torch.bfloat16, torch.complex128, torch.uint8, torch.int8)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "count"), [*((d, 12) for d in USUAL), *((d, 4) for d in RARER)])
def test_rules_agree_with_eager_at_length(dtype, count):
    """Many samples of each operator, per dtype."""
    outcome = sweep(op_samples([dtype], count))
    assert not outcome.mismatches, f"\n{report(outcome)}"
