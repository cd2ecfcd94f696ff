"""Declarations of caches by columns, by layers, in a row."""

from types import SimpleNamespace

import pytest
import torch

from monograph.dims.cache_forms import by_attributes, is_grouped


def cache(n):
    """Make a cache of n layers."""
    layers = [SimpleNamespace(keys=torch.ones(1), n=2, values=torch.ones(1)) for _ in range(n)]
    return SimpleNamespace(layers=layers, name="c")


def layer(k, v):
    """Declare one layer."""
    return {"keys": k, "n": None, "values": v}


@pytest.mark.parametrize(
    "spec",
    [
        [[{0: "k1"}, {0: "k2"}, {0: "k3"}], [{0: "v1"}, {0: "v2"}, {0: "v3"}]],
        {
            "key_cache": [{0: "k1"}, {0: "k2"}, {0: "k3"}],
            "value_cache": ({0: "v1"}, {0: "v2"}, {0: "v3"}),
        },
        [({0: "k1"}, {0: "v1"}), ({0: "k2"}, {0: "v2"}), ({0: "k3"}, {0: "v3"})],
        [{0: "k1"}, {0: "v1"}, {0: "k2"}, {0: "v2"}, {0: "k3"}, {0: "v3"}],
    ],
)
def test_forms_say_the_same(spec):
    """Three layers: columns, a registered cache's, pairs, one after the other."""
    given = cache(3)
    assert is_grouped(given, spec)
    layers = [layer({0: f"k{i}"}, {0: f"v{i}"}) for i in (1, 2, 3)]
    assert by_attributes(given, spec) == {"layers": layers}


def test_columns_come_first():
    """Where there are as many layers as columns."""
    found = by_attributes(cache(2), [[{0: "k1"}, {0: "k2"}], [{0: "v1"}, {0: "v2"}]])
    assert found == {"layers": [layer({0: "k1"}, {0: "v1"}), layer({0: "k2"}, {0: "v2"})]}


def test_what_does_not_fit_stays():
    """It is refused by whoever reads it."""
    assert by_attributes(cache(3), [[{0: "k"}]]) == [[{0: "k"}]]
    assert not is_grouped(cache(1), {"layers": []})
    assert not is_grouped({"layers": []}, [[]])
