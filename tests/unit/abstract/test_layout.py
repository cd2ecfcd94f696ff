"""Layouts of symbolic sizes: what holds wherever there are elements."""

import torch

from monograph.abstract.elementwise import elementwise
from monograph.abstract.layout import is_dense, no_greater, stride_order
from monograph.abstract.tensor_type import TensorType
from monograph.integers import Facts, use

CPU = torch.device("cpu")


def tensor(shape, strides):
    """A float tensor."""
    return TensorType(shape, torch.float32, CPU, strides)


def test_a_permutation_is_dense_whatever_its_sizes():
    """Even where sizes may be 0, so that no stride is known to be the greater one."""
    with use(Facts()) as facts:
        n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=5)
        turned = tensor((n, 4, m, 8), (32 * m, 8, 32, 1))
        assert is_dense(turned)
        assert stride_order(turned) == (3, 1, 2, 0)
        assert not is_dense(tensor((n, m), (2 * m, 2)))
        assert elementwise([turned], torch.int64).stride() == turned.stride()


def test_strides_are_compared_where_there_are_elements():
    """A product of sizes is at least each of its factors."""
    with use(Facts()) as facts:
        n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=5)
        assert no_greater(1, n)
        assert no_greater(n, n * m)
        assert no_greater(m + 1, n * (m + 1))
        assert not no_greater(n, m)
        assert not no_greater(2, n)


def test_a_layout_the_example_decides_is_guarded():
    """Rows of a sliced and turned matrix: which stride is smaller depends on the size."""
    with use(Facts()) as facts:
        n, m = facts.symbol("n", hint=6), facts.symbol("m", hint=5)
        turned = tensor((3, m), (2, n))
        assert elementwise([turned], torch.float32).stride() == (1, 3)
        assert len(facts.guards) == 1
