"""Arguments are taken apart as pytree does, and anything unlike the example is named."""

import inspect
from collections import OrderedDict, defaultdict, deque
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.utils import _pytree as pytree

from monograph.diagnostics import ContractError
from monograph.program.signature import CallNames, call_names
from monograph.program.structure import compile_flatten, input_paths


class Pair(NamedTuple):
    left: object
    right: object


class Cache:
    def __init__(self, keys, width):
        self.keys, self.width = keys, width


pytree.register_pytree_node(
    Cache,
    lambda c: ([c.keys], c.width),
    lambda children, width: Cache(children[0], width),
    flatten_with_keys_fn=lambda c: ([(pytree.GetAttrKey("keys"), c.keys)], c.width),
)


def names_of(function, n_args, keywords=()):
    """The names of a call of `function`."""
    return call_names(inspect.signature(function), n_args, keywords)


@pytest.mark.parametrize(
    ("function", "n_args", "keywords", "parameters"),
    [
        (lambda x, y: 0, 2, [], "x, y"),
        (lambda x, y: 0, 1, ["y"], "x, y"),
        (lambda x, y=0, z=0: 0, 1, ["z"], "x, *, z"),
        (lambda x, y, z: 0, 1, ["z", "y"], "x, y, z"),
        (lambda x, /, y: 0, 2, [], "x, /, y"),
        (lambda x, *rest, k=0: 0, 3, ["k"], "x, rest_0, rest_1, /, *, k"),
        (lambda x, **kw: 0, 1, ["b"], "x, *, b"),
        (lambda x, **kw: 0, 1, ["b", "a"], "x, **kw"),
        (lambda x, *, k, **kw: 0, 1, ["b", "k", "a"], "x, *, k, **kw"),
        (lambda x, /, **kw: 0, 1, ["x"], "x_, /, *, x"),
        (lambda: 0, 0, [], ""),
    ],
)
def test_parameters_follow_the_original(function, n_args, keywords, parameters):
    """Each way of passing an argument is allowed iff the original allows it for the example."""
    assert names_of(function, n_args, keywords).parameters() == parameters


def test_names_without_a_signature():
    """A callable without signature is called by position."""
    assert call_names(None, 2, ["k"]).parameters() == "args_0, args_1, /, *, k"
    assert not CallNames((), 0, ("a-b",)).is_plain
    assert not CallNames((), 0, ("class",)).is_plain


STRUCTURES = [
    ((1, 2), {}),
    (([1, (2, 3)], {"a": 4, "b": [5]}), {"k": 6}),
    ((Pair(1, [2]), OrderedDict(a=1)), {"k": (), "m": [], "n": {}}),
    ((Cache([1, 2], 3), deque([1, 2], maxlen=2)), {"d": defaultdict(list, a=1)}),
    ((None, "mode"), {"a-b": 1}),
    ((), {}),
]


@pytest.mark.parametrize(("args", "kwargs"), STRUCTURES)
def test_leaves_are_pytrees(args, kwargs):
    """The generated code gives the leaves in pytree's order."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    names = call_names(None, len(args), list(kwargs))
    flatten = compile_flatten(spec, names)
    assert flatten(args, kwargs) == leaves
    assert flatten(args, dict(reversed(kwargs.items()))) == leaves


def test_paths_are_written_as_users_write_them():
    """A path is the expression that reaches the leaf from the parameters."""
    args = (1, [2, {"a": 3}], Pair(4, 5), Cache([6], 3))
    names = names_of(lambda x, y, pair, cache, *, k: 0, 4, ["k"])
    assert input_paths(names, args, {"k": 7}) == [
        "x",
        "y[0]",
        "y[1]['a']",
        "pair.left",
        "pair.right",
        "cache.keys[0]",
        "k",
    ]


EXAMPLE = ((1, [2, 3], Cache([4], 8)), {"batch": {"a": 5, "b": 6}})


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((1, [2], Cache([4], 8)), EXAMPLE[1], "`y` expected a list of 2, got a list of 1"),
        ((1, (2, 3), Cache([4], 8)), EXAMPLE[1], "`y` expected a list of 2, got a tuple of 2"),
        ((1, [2, 3], Cache([4], 9)), EXAMPLE[1], "`cache` expected"),
        ((1, [2, 3], Cache([4, 5], 8)), EXAMPLE[1], "`cache.keys` expected a list of 1"),
        ((1, [2, 3], None), EXAMPLE[1], "`cache` expected a Cache of 1, got None"),
        ((1, [2, 3]), EXAMPLE[1], "`cache` expected a Cache of 1, got no argument"),
        (EXAMPLE[0], {}, "`batch` expected a dict with the keys 'a', 'b', got no argument"),
        (EXAMPLE[0], {"batch": {"b": 5, "a": 6}}, "got a dict with the keys 'b', 'a'"),
        (EXAMPLE[0], {"batch": OrderedDict(a=5, b=6)}, "got an OrderedDict with"),
        (EXAMPLE[0], {**EXAMPLE[1], "more": 1}, "`more` expected no argument, got an int"),
        ((*EXAMPLE[0], {"a": 5, "b": 6}, 7), {}, "`args[4]` expected no argument, got an int"),
    ],
)
def test_the_first_difference_is_named(args, kwargs, said):
    """A call unlike the example is refused with the path of what differs."""
    spec = pytree.tree_structure(EXAMPLE)
    names = names_of(lambda x, y, cache, batch: 0, 3, ["batch"])
    with pytest.raises(ContractError) as refused:
        compile_flatten(spec, names)(args, kwargs)
    assert said in str(refused.value).replace("\n  ", " ")


def test_keywords_that_no_parameter_is_named_after_keep_their_order():
    """Forward sees the order of its `**kw`; that of other keywords nobody sees."""
    names = names_of(lambda x, *, k, **kw: 0, 1, ["b", "k", "a"])
    flatten = compile_flatten(pytree.tree_structure(((1,), {"b": 2, "k": 3, "a": 4})), names)
    assert flatten((1,), {"k": 3, "b": 2, "a": 4}) == [1, 2, 3, 4]
    with pytest.raises(ContractError) as refused:
        flatten((1,), {"a": 4, "b": 2, "k": 3})
    assert "`**kw` expected the keywords in the order b, a, got a, b" in str(refused.value)
    assert names.arguments() == "(x,), {'k': k, **kw}"


@pytest.mark.parametrize("keys", [(1.0, 2), (True, 2), (np.int64(1), 2)])
def test_equal_keys_of_another_type_are_other_keys(keys):
    """They look up alike, and print otherwise."""
    flatten = compile_flatten(pytree.tree_structure((({1: 0, 2: 0},), {})), names_of(len, 1))
    assert flatten(({1: 5, 2: 6},), {}) == [5, 6]
    with pytest.raises(ContractError, match="dict with the keys 1, 2"):
        flatten((dict.fromkeys(keys, 0),), {})


def test_a_tensor_is_a_leaf_anywhere():
    """Leaves of any type pass; what they must be is the contract's business."""
    flatten = compile_flatten(pytree.tree_structure(((1,), {})), call_names(None, 1, []))
    x = torch.ones(2)
    assert flatten((x,), {})[0] is x
