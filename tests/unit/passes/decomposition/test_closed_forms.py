"""A shortcut writes what the formula writes, whatever the layout, at fixed and varying sizes."""

import pytest
import torch

from monograph.abstract.tensor_type import TensorType
from monograph.host.fx_nodes import append_node
from monograph.integers import Facts, ge, use
from monograph.passes.decomposition.closed_forms import SHORTCUTS
from monograph.passes.decomposition.lowering import Lowering
from monograph.passes.decomposition.table import default_decompositions
from monograph.passes.decomposition.template_cache import StaticTemplates, TemplateCache
from monograph.passes.formulas import FormulaWriter, facts_for_lowering
from monograph.passes.graph_builder import GraphBuilder

aten = torch.ops.aten
F32 = torch.float32


class Sizes:
    """Named sizes that vary, at least 0."""

    def __init__(self):
        self.facts = Facts()
        self.n, self.m = (self.facts.symbol(name, hint=5) for name in ("n", "m"))
        for each in (self.n, self.m):
            self.facts.guard(ge(each, 0))


def tensor(*shape, strides=None, dtype=F32):
    """The type of a tensor; contiguous unless strides are given."""
    return TensorType(tuple(shape), dtype, torch.device("cpu"), strides)


def calls(n, m):
    """Every operator with a shortcut, on several arguments: (overload, args)."""
    weight, bias = tensor(5, 4), tensor(5)
    for x in (
        tensor(4),
        tensor(n, 4),
        tensor(3, 4, strides=(1, 3)),
        tensor(n, m, 4),
        tensor(2, 3, 4, strides=(4, 8, 1)),
        tensor(2, 3, 4, strides=(0, 4, 1)),
        tensor(n, 2, m, 4),
        tensor(0, 3, 4),
        tensor(1, 1, 4),
        tensor(1, 4),
    ):
        yield aten.linear.default, (x, weight, bias)
        yield aten.linear.default, (x, weight)
        yield aten.linear.default, (x, tensor(5, 4, strides=(1, 5)), bias)
        yield aten.contiguous.default, (x,)
        for dtype in (F32, torch.float64, torch.bool):
            yield aten.to.dtype, (x, dtype)
        yield aten.to.dtype, (x, F32, False, True)
        yield aten.layer_norm.default, (x, [4], tensor(4), tensor(4))
        yield aten.layer_norm.default, (x, [4], None, None, 1e-3, False)
        yield aten.matmul.default, (x, tensor(4, 6))
        yield aten.matmul.default, (x, tensor(4))
        yield aten.matmul.default, (x, tensor(4, m))
    for x in (
        *(tensor(n, 3, m), tensor(2, 3, 4, strides=(4, 8, 1)), tensor(0, 3), tensor()),
        *(tensor(n, m, dtype=torch.bfloat16), tensor(2, 3, dtype=torch.float64)),
    ):
        yield aten.softmax.int, (x, -1)
        yield aten.softmax.int, (x, 0)
    yield aten.softmax.int, (tensor(n, m), 0, torch.float64)
    yield from views(n, m)
    yield from products(n, m)
    yield from images(n)


def views(n, m):
    """Other sizes and orders."""
    for x in (tensor(n, m), tensor(3), tensor(2, 3, strides=(1, 2)), tensor(n, 2)):
        yield aten.t.default, (x,)
        for dims in ((0, -1), (-1, 0), (0, 0)):
            yield aten.transpose.int, (x, *dims)
    yield aten.transpose.int, (tensor(n, m, 4), -1, 1)
    yield aten.transpose.int, (tensor(2, 3, 4, strides=(12, 1, 3)), 1, -1)
    for shape in ([12], [-1], [3, 4], [2, 6], [2, -1, 3], [2, 2, 3], [1, 12], [2, 1, 6]):
        for strides in (None, (1, 2), (6, 1), (12, 1), (0, 1), (8, 1), (12, 2)):
            yield aten.reshape.default, (tensor(2, 6, strides=strides), shape)
    for x in (tensor(n, 3, m, 4), tensor(2, 3, 4, strides=(4, 8, 1)), tensor(n, m, 4)):
        for dims in ((), (1,), (1, -1), (0, 1), (-2, -1), (1, 1)):
            yield aten.flatten.using_ints, (x, *dims)
    for x in (tensor(n), tensor()):
        for dims in ((), (0,), (-1, 0)):
            yield aten.flatten.using_ints, (x, *dims)
    yield aten.reshape.default, (tensor(n, m, 4), [n, 4 * m])
    yield aten.reshape.default, (tensor(n, m, 4), [-1, 4])
    yield aten.reshape.default, (tensor(n, m, 4, strides=(4, 4 * n, 1)), [n, 4 * m])
    yield aten.reshape.default, (tensor(0, 3), [0, 5])
    yield aten.reshape.default, (tensor(0, 3, strides=(1, 4)), [3, 0])
    yield aten._reshape_alias.default, (tensor(2, 6), [3, 4], [4, 1])
    yield aten._reshape_alias.default, (tensor(2, 6, strides=(6, 1)), [12], [1])


def products(n, m):
    """Stacks of matrices, some of which lie otherwise."""
    plain, other = tensor(2, 5, 2, 3), tensor(2, 5, 3, 4)
    turned = tensor(2, 5, 3, 4, strides=(60, 12, 1, 3))
    swapped = tensor(2, 5, 2, 3, strides=(30, 3, 15, 1))
    for x in (plain, swapped, tensor(2, 5, 2, 3, strides=(0, 6, 3, 1))):
        for y in (other, turned):
            yield aten.matmul.default, (x, y)
    yield aten.matmul.default, (tensor(n, 5, m, 3), tensor(n, 5, 3, m))
    yield aten.matmul.default, (tensor(n, m, 3), tensor(n, 3, m))
    yield aten.matmul.default, (tensor(n, 5, 3), tensor(1, 3, 4))
    yield aten.matmul.default, (tensor(1, 5, 3), tensor(n, 3, 4))
    yield aten.matmul.default, (tensor(2, 3, 4), tensor(5, 2, 4, 3))
    yield aten.matmul.default, (tensor(0, 5, 3), tensor(0, 3, 4))
    yield aten.matmul.default, (tensor(2, 3, 4, strides=(4, 8, 1)), tensor(4, 6))
    yield aten.matmul.default, (tensor(n, 4), tensor(4, m))
    yield aten.matmul.default, (tensor(2, 3, 0), tensor(0, 4))


def images(n):
    """Convolutions and normalisation."""
    kernel = tensor(4, 3, 3, 3)
    for x in (tensor(n, 3, 8, 8), tensor(3, 8, 8), tensor(2, 3, 8, 8, strides=(192, 1, 24, 3))):
        yield aten.conv2d.default, (x, kernel)
        yield aten.conv2d.default, (x, kernel, tensor(4), [2, 2], [1, 1], [1, 1], 1)
        yield aten.conv2d.default, (x, kernel, None, [2], [1])
        yield aten.conv2d.default, (x, tensor(3, 1, 3, 3), None, [1, 1], [0, 0], [1, 1], 3)
    yield aten.conv1d.default, (tensor(n, 3, 8), tensor(4, 3, 3), tensor(4), [2], [1], [1])
    yield aten.conv1d.default, (tensor(n, 3, 8), tensor(4, 3, 3))
    yield aten.conv3d.default, (tensor(1, 3, 4, 4, 4), tensor(2, 3, 2, 2, 2))
    for x in (
        *(tensor(n, 3, 8, 8), tensor(3, 8, 8), tensor(2, 3, 8, 8, strides=(192, 1, 24, 3))),
        *(tensor(n, 1, 8, 8), tensor(n, 3, 1, 1), tensor(n, 3, n, 8), tensor(0, 3, 8, 8)),
    ):
        for size in ([1, 1], [2, 1], [1]):
            yield aten.adaptive_avg_pool2d.default, (x, size)
        yield aten.max_pool2d.default, (x, [3, 3], [2, 2], [1, 1])
        yield aten.max_pool2d.default, (x, [1], [2], [0], [1], True)
    yield aten.max_pool2d.default, (tensor(n, 3, 8, 8), [2, 2])
    statistics = (tensor(3), tensor(3))
    for x in (tensor(n, 3, 4), tensor(2, 3, 4, 4), tensor(0, 3), tensor(4, 3, strides=(1, 4))):
        for affine in ((tensor(3), tensor(3)), (None, None)):
            yield aten.batch_norm.default, (x, *affine, *statistics, False, 0.1, 1e-5, True)
            yield aten.batch_norm.default, (x, *affine, None, None, True, 0.1, 1e-5, False)


ALL = [*enumerate(calls(2, 3))]


def written(overload, args, facts, *, shortcuts):
    """The graph of one call lowered, with the types of its nodes; the guards it left."""
    lowered = facts_for_lowering(facts, {})
    builder = GraphBuilder(lowered, FormulaWriter())
    lowering = Lowering(
        default_decompositions(), lowered, builder, TemplateCache(StaticTemplates())
    )
    lowering.is_default = shortcuts
    n = iter(range(9))
    given = [
        builder.placeholder(f"given_{next(n)}", builder.described(arg))
        if isinstance(arg, TensorType)
        else arg
        for arg in args
    ]
    with use(lowered):
        result = lowering.plain(overload, tuple(given), {})
    append_node(builder.writer.graph, "output", "output", "output", ((result,),), {})
    before = len([*builder.writer.graph.nodes])
    builder.drop_unused()
    assert not shortcuts or before == len([*builder.writer.graph.nodes]), "something is unused"
    lines = [
        f"{node} = {node.target}({node.args}, {node.kwargs}): {described(node.meta['val'])}"
        for node in builder.writer.graph.nodes
        if node.op == "call_function"
    ]
    guards = {str(guard.relation) for guard in lowered.guards[len(facts.guards) :]}
    return lines, str(result), guards


def described(val):
    """The types of what a node gives."""
    if isinstance(val, tuple | list):
        return [described(each) for each in val]
    return getattr(val, "tensor_type", val)


@pytest.mark.parametrize(("index", "call"), ALL, ids=[f"{i}-{c[0]}" for i, c in ALL])
@pytest.mark.parametrize("how", ["fixed", "varying"])
def test_shortcut_is_the_formula(index, call, how):
    """Nodes, types and result are those that the formulas lead to, and there are no more guards."""
    sizes = Sizes()
    facts = sizes.facts
    if how == "varying":
        with use(facts):
            call = [*calls(sizes.n, sizes.m)][index]
    *expected, allowed = written(*call, facts, shortcuts=False)
    *found, needed = written(*call, facts, shortcuts=True)
    assert found == expected
    assert needed <= allowed, "it excludes what the formula does not"


def test_every_shortcut_is_held_to_its_formula():
    """No overload is left out above."""
    assert set(SHORTCUTS) == {overload for _, (overload, _) in ALL}


@pytest.mark.parametrize("call", [c for _, c in ALL[::7]], ids=[f"{i}-{c[0]}" for i, c in ALL[::7]])
def test_the_second_call_is_written_as_the_first(call):
    """What the first call wrote is copied for the next, under the names it would have had."""
    facts, cache = facts_for_lowering(Facts(), {}), TemplateCache(StaticTemplates())
    overload, args = call
    written = []
    for _ in range(2):
        builder = GraphBuilder(facts, FormulaWriter())
        lowering = Lowering(default_decompositions(), facts, builder, cache)
        for n in range(2):
            given = [
                builder.placeholder(f"given_{n}_{i}", builder.described(arg))
                if isinstance(arg, TensorType)
                else arg
                for i, arg in enumerate(args)
            ]
            with use(facts):
                lowering.plain(overload, tuple(given), {})
        nodes = builder.writer.graph.nodes
        written.append([f"{node}: {node.target} {node.args} {node.kwargs}" for node in nodes])
    assert cache.static.templates
    assert written[0] == written[1]
