"""Several calls side by side: what may differ, and what may not."""

import math

import numpy as np
import pytest
import torch

from monograph.diagnostics import SpecError
from monograph.dims.observed import observe


def differences(*values, may_vary=(int,)):
    """What is said of one input that has these values."""
    with pytest.raises(SpecError) as refused:
        observe(lambda x: x, [((value,), None) for value in values], may_vary)
    assert refused.value.diagnostic.name == "spec-calls-differ"
    return [cause.label for cause in refused.value.diagnostic.causes]


def test_leaves_are_by_path():
    """One tuple of values for each leaf."""
    found = observe(lambda x, k: x, [(({"a": 1},), {"k": 2}), (({"a": 3},), {"k": 2})])
    assert found.leaves == {"x['a']": (1, 3), "k": (2, 2)}
    assert found.declare(lambda path, values: len(set(values))) == {"x": {"a": 2}, "k": 1}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((True, False), "x: True, False"),
        ((1, True), "x: 1, True"),
        ((1.0, 2.0), "x: 1.0, 2.0"),
        (("a", "b", "a"), "x: 'a', 'b'"),
        ((torch.ones(2), None), "x: a tensor of 1 dimension, None"),
        ((torch.ones(2), torch.ones(2, 2)), "x: 1 dimension, 2 dimensions"),
        ((torch.ones(2), torch.ones(2).int()), "x: float32, int32"),
    ],
)
def test_what_cannot_be_dynamic_is_refused(values, expected):
    """Another flag, type, dtype or number of dimensions."""
    assert differences(*values) == [expected]


def test_every_difference_is_reported():
    """Missing parts too."""
    assert differences({"a": True, "b": "s"}, {"a": False}) == [
        "x['a']: True, False",
        "x['b']: 's', nothing",
    ]


def test_nan_is_nan():
    """And floats may vary where that is asked for."""
    observe(lambda x: x, [((math.nan,), None), ((math.nan,), None)])
    observe(lambda x: x, [((1.0,), None), ((2.0,), None)], (float,))


def test_arrays_are_left_to_the_export():
    """It refuses them by name, as inputs; whether two are equal has no one answer."""
    observe(lambda x: x, [((np.ones(2),), None), ((np.zeros(2),), None)])
