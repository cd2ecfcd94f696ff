"""Operators that only say how a function is compiled are recorded as what the function computes."""

import io

import pytest
import torch
from torch import nn
from torch._higher_order_ops import InvokeQuant

import monograph
from monograph import Dim

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")


@torch.compiler.nested_compile_region
def marked(x, y):
    """Mark a region that is compiled once."""
    return x.sin() + y


class Marked(nn.Module):
    """A region is called twice."""

    def forward(self, x, y):
        return marked(x, y) * marked(y, x)


class Hinted(nn.Module):
    """A function with hints for a compiler."""

    def forward(self, x, y):
        hinted = torch.ops.higher_order.hints_wrapper
        return hinted(lambda a, b: torch.relu(a) + b, (x, y), {}, hints={"wide": True})


def product(x, y):
    """Compute two results, as operators want them."""
    return x * y + y, x - y


class Quantised(nn.Module):
    """A function that a compiler is to quantise, by both operators and the class in front."""

    def __init__(self):
        super().__init__()
        self.graph = torch.fx.symbolic_trace(product)

    def forward(self, x, y):
        higher_order = torch.ops.higher_order
        packed = higher_order.invoke_quant_packed(product, x, y, scheme="nf4")
        unpacked = higher_order.invoke_quant(self.graph, x, packed[0], scheme="nf4")
        return InvokeQuant()(product, *unpacked, scheme="nf4")


class Listed(nn.Module):
    """One function of several lists."""

    def forward(self, x, y):
        return torch.ops.higher_order.foreach_map(
            lambda a, b: [torch.add(*a), b[0] * 2], [x, y], [y]
        )


class Called(nn.Module):
    """Graphs are called by the operators that exported programs hold."""

    def __init__(self):
        super().__init__()
        self.graph = torch.fx.symbolic_trace(product)

    def forward(self, x, y):
        higher_order = torch.ops.higher_order
        called = higher_order.invoke_subgraph(self.graph, "a name", x, y)
        strict = higher_order.strict_mode(product, called)
        return higher_order.out_dtype(torch.ops.aten.mul.Tensor, torch.float64, *strict)


class Stacked(nn.Module):
    """All rounds of a loop, as many as constants say."""

    def forward(self, x, y):
        stacked = torch.ops.higher_order.while_loop_stack_output
        return stacked(lambda i, _: i < 3, lambda i, a: (i + 1, a * y), (torch.tensor(0), x), ())


class Attention(nn.Module):
    """Scores are changed by a function that reads a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("slopes", torch.randn(2))

    def forward(self, q, k, v):
        from torch.nn.attention.flex_attention import flex_attention  # noqa: PLC0415 - slow

        def bias(score, _batch, head, row, column):
            return score + self.slopes[head] * (row - column)

        return flex_attention(q, k, v, score_mod=bias)


class Masked(nn.Module):
    """A block mask is made inside, of documents that are an input."""

    def forward(self, q, k, v, documents):
        from torch.nn.attention import flex_attention as flex  # noqa: PLC0415 - slow

        def within(batch, _head, row, column):
            return (documents[batch, row] == documents[batch, column]) & (row >= column)

        mask = flex.create_block_mask(within, 2, None, q.shape[2], q.shape[2], device="cpu")
        return flex.flex_attention(q, k, v, block_mask=mask, return_lse=True)


def heads(batch=2, length=12):
    """Give queries, keys and values."""
    return tuple(torch.randn(batch, 2, length, 4) for _ in range(3))


def documents(batch=2, length=12):
    """Give queries, keys, values and the document that each is of."""
    return (*heads(batch, length), torch.randint(0, 2, (batch, length)).sort().values)


def pair():
    """Give two vectors."""
    return torch.randn(3), torch.randn(3)


def transposed():
    """Give heads that lie behind the length in memory."""
    return tuple(torch.randn(2, 12, 2, 4).transpose(1, 2) for _ in range(3))


CASES = {
    "region": (Marked, pair, [pair], None),
    "hints": (Hinted, pair, [pair], None),
    "quantised": (Quantised, pair, [pair], None),
    "lists": (Listed, pair, [pair], None),
    "subgraphs": (Called, pair, [pair], None),
    "stacked rounds": (Stacked, pair, [pair], None),
    "scores": (Attention, heads, [heads], None),
    "laid out otherwise": (Attention, transposed, [transposed], None),
    "masked": (Masked, documents, [documents], None),
    "any batch and length": (
        Attention,
        heads,
        [heads, lambda: heads(5, 3), lambda: heads(1, 1)],
        ({0: Dim("b", min=1, max=9), 2: Dim("n", min=1, max=99)},) * 3,
    ),
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("name", CASES)
def test_inlined_regions(name, strict):
    """They agree with eager in every form, and nothing of the operator is left."""
    build, example, calls, shapes = CASES[name]
    module = build()
    program = monograph.export(module, example(), dynamic_shapes=shapes, strict=strict)
    assert all("higher_order" not in str(node.target) for node in program.graph.nodes)
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    forms = [program, program.run_decompositions(), monograph.load(file)]
    for call in calls:
        inputs = call()
        expected = module(*inputs)
        for form in forms:
            torch.testing.assert_close(form.module()(*inputs), expected, check_stride=True)
        torch.testing.assert_close(monograph.unflatten(program)(*inputs), expected)


def test_operators_without_a_kernel_and_loops_on_data_are_refused_by_name():
    """What eager code cannot run, and rounds whose number only the run knows."""

    class Unknown(nn.Module):
        def forward(self, x, y):
            return torch.ops.higher_order.run_const_graph(torch.fx.symbolic_trace(product), (x, y))

    class Rounds(nn.Module):
        def forward(self, x, y):
            stacked = torch.ops.higher_order.while_loop_stack_output
            return stacked(lambda a: a.sum() < 3, lambda a: (a + y,), (x,), ())

    for build, name in ((Unknown, "unsupported-operator"), (Rounds, "data-dependent-branch")):
        with pytest.raises(monograph.MonographError) as refused:
            monograph.export(build(), pair())
        assert refused.value.diagnostic.name == name


def test_functions_given_to_operators_are_interpreted():
    """What a function that an operator calls does to the outside is seen, and branches captured."""

    class Counts(nn.Module):
        def forward(self, x, y):
            def body(a, b):
                return (a + b if a.sum() > 0 else a - b), a

            return torch.ops.higher_order.invoke_quant_packed(body, x, y, scheme="nf4")

    module = Counts()
    program = monograph.export(module, pair())
    for _ in range(4):
        inputs = pair()
        torch.testing.assert_close(program.module()(*inputs), module(*inputs))


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_functions_of_other_parameters_raise_what_python_says(strict):
    """The user's own mistake is no mistake of ours."""

    class Takes(nn.Module):
        def forward(self, x, y):
            return torch.cond(x.sum() > 0, lambda a: a + y, lambda: y, (x,))

    with pytest.raises(TypeError, match="takes 0 positional arguments but 1 was given"):
        monograph.export(Takes(), pair(), strict=strict)


def test_a_list_as_long_as_data_says_is_refused_by_its_name():
    """It is no object of the user's, whatever stands for it."""

    class Listed(nn.Module):
        def forward(self, x, y):
            return {"all": [x + i for i in range(int(y.sum()))]}

    with pytest.raises(monograph.UnsupportedError, match="list-grown"):
        monograph.export(Listed(), (torch.ones(3), torch.tensor([1, 2])))
