"""One small program, made by hand, that has one of everything."""

import inspect
from dataclasses import dataclass, field

import pytest
import torch
from torch.utils import _pytree as pytree

from monograph.integers import Facts, Guard, ge
from monograph.program import (
    ConstantArgument,
    Contract,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
    TensorClause,
    ValueClause,
    build,
)

aten = torch.ops.aten


class Small(torch.nn.Module):
    """What the program below computes; `lin.weight`, `steps`, `cache` and `scale` are its state."""

    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 5, bias=False)
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("cache", torch.full((5,), 2.0), persistent=False)
        self.scale = torch.full((5,), 3.0)

    def forward(self, x, batch, *, k=2):
        self.steps.add_(1)
        y = self.lin(x) * self.scale + self.cache + batch["mask"]
        return {"y": y, "k": k}, self.steps + k


@dataclass
class Parts:
    """The arguments of `build`, for a test to change before it builds."""

    model: Small
    graph: torch.fx.Graph
    nodes: dict
    symbol: object
    given: dict = field(default_factory=dict)

    def build(self):
        return build(graph=self.graph, **self.given)


def make_parts():
    """Everything `build` takes, for a batch of 4."""
    model = Small()
    graph = torch.fx.Graph()
    nodes = {}

    def value(*shape):
        return torch.empty(shape, device="meta")

    def put(op, name, target, args=(), val=None):
        node = graph.create_node(op, target, args, {}, name)
        node.meta["val"] = val
        nodes[name] = node
        return node

    w = put("placeholder", "p_lin_weight", "p_lin_weight", val=value(5, 3))
    steps = put("placeholder", "b_steps", "b_steps", val=value())
    cache = put("placeholder", "b_cache", "b_cache", val=value(5))
    scale = put("placeholder", "c_scale", "c_scale", val=value(5))
    x = put("placeholder", "x", "x", val=value(4, 3))
    mask = put("placeholder", "batch_mask", "batch_mask", val=value(4, 5))
    put("placeholder", "k", "k", val=2)
    put("call_function", "add_", aten.add_.Tensor, (steps, 1), value())
    linear = put("call_function", "linear", aten.linear.default, (x, w), value(4, 5))
    mul = put("call_function", "mul", aten.mul.Tensor, (linear, scale), value(4, 5))
    add = put("call_function", "add", aten.add.Tensor, (mul, cache), value(4, 5))
    add_1 = put("call_function", "add_1", aten.add.Tensor, (add, mask), value(4, 5))
    add_2 = put("call_function", "add_2", aten.add.Tensor, (steps, 2), value())
    put("output", "output", "output", ((add_1, 2, add_2),))

    n = Facts().symbol("s0", hint=4)
    args, kwargs = (torch.ones(4, 3), {"mask": torch.ones(4, 5)}), {"k": 2}
    in_spec = pytree.tree_structure((args, kwargs))
    out_spec = pytree.tree_structure(({"y": 0, "k": 0}, 0))

    def spec(kind, name, target, persistent=None):
        return InputSpec(kind, TensorArgument(name), target, persistent)

    f32 = torch.float32
    given = {
        "input_specs": [
            spec(InputKind.PARAMETER, "p_lin_weight", "lin.weight"),
            spec(InputKind.BUFFER, "b_steps", "steps", persistent=True),
            spec(InputKind.BUFFER, "b_cache", "cache", persistent=False),
            spec(InputKind.CONSTANT_TENSOR, "c_scale", "scale"),
            spec(InputKind.USER_INPUT, "x", None),
            spec(InputKind.USER_INPUT, "batch_mask", None),
            InputSpec(InputKind.USER_INPUT, ConstantArgument("k", 2), None),
        ],
        "output_specs": [
            OutputSpec(OutputKind.USER_OUTPUT, TensorArgument("add_1"), None),
            OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", 2), None),
            OutputSpec(OutputKind.USER_OUTPUT, TensorArgument("add_2"), None),
        ],
        "mutated_in_place": {"b_steps": "steps"},
        "state_dict": dict(model.state_dict(keep_vars=True)),
        "constants": {"cache": model.cache, "scale": model.scale},
        "in_spec": in_spec,
        "out_spec": out_spec,
        "contract": Contract(
            in_spec,
            (
                TensorClause("x", f32, "cpu", (n, 3)),
                TensorClause("batch['mask']", f32, "cpu", (n, 5)),
                ValueClause("k", 2),
            ),
            (Guard(ge(100, n * n), None),),
            ((n, 2, None),),
            {n: "batch"},
        ),
        "signature": inspect.signature(model.forward),
        "example_inputs": (args, kwargs),
    }
    return Parts(model, graph, nodes, n, given)


@pytest.fixture
def parts():
    """The arguments of `build`, fresh for each test."""
    return make_parts()


@pytest.fixture
def program(parts):
    """The program, built."""
    return parts.build()
