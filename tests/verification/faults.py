"""Programs with one fault planted in each, by kind; what `verify` must say is beside it.

A fault takes a right program and gives a wrong one, as a wrong rule, pass, or file would.
"""

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

import monograph
from monograph import Dim, ExportedProgram
from monograph.integers import relation_symbols

aten = torch.ops.aten


@dataclass(frozen=True)
class Fault:
    """A module, its export, what is done to the program, and what must be reported.

    `kind` is the difference's, `operator` of the module, or its first part, `line` the text of the
    user's line.
    """

    name: str
    module: Callable[[], nn.Module]
    example: Callable[[], tuple]
    plant: Callable[[ExportedProgram], ExportedProgram]
    kind: str
    operator: str = ""
    line: str = ""
    shapes: object = None


FAULTS: dict[str, Fault] = {}


def fault(module, example, kind, operator="", line="", shapes=None):
    """Register a function that plants a fault."""

    def register(plant):
        name = plant.__name__
        FAULTS[name] = Fault(name, module, example, plant, kind, operator, line, shapes)
        return plant

    return register


class Mlp(nn.Module):
    """Two layers and a norm."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        y = self.norm(torch.relu(self.first(x)))
        return self.second(y)


class Counter(nn.Module):
    """State that a call writes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.calls += 1
        self.seen.copy_(x.sum(0))
        return x * self.calls


class Pooled(nn.Module):
    """Convolution, pooling, means."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        y = torch.relu(self.bn(self.conv(x)))
        return y.amax((2, 3)), y.mean((2, 3))


class Branch(nn.Module):
    """A size that the module does not take."""

    def forward(self, x):
        if x.shape[0] > 6:
            raise ValueError("at most six rows")
        y = x * 2
        return y + 1


class Views(nn.Module):
    """Results that are views of the input."""

    def forward(self, x):
        return x.t(), x[1:], x * 2


class Attention(nn.Module):
    """Scaled dot products, a mask, and a softmax."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / 8**0.5
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return weights @ v


class Decided(nn.Module):
    """A branch on data."""

    def forward(self, x):
        y = x.sin()
        if y.sum() > 0:
            return y * 3
        return y - 1


class Writes(nn.Module):
    """An input that the call writes to."""

    def forward(self, x, y):
        y.add_(x)
        return (x * y).sum()


class Table(nn.Module):
    """An embedding, and indices."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 6)

    def forward(self, ids):
        rows = self.table(ids)
        order = rows.sum(-1).argsort(-1)
        return rows.mean(1), order


def rows():
    """Eight features, as many rows as one likes."""
    return (torch.randn(4, 8),)


def square():
    """A matrix."""
    return (torch.randn(4, 3),)


def images():
    """Pictures."""
    return (torch.randn(2, 3, 8, 8),)


def words():
    """Sequences of features."""
    return (torch.randn(2, 5, 8),)


def two():
    """Two vectors."""
    return torch.randn(5), torch.randn(5)


def ids():
    """Numbers of words."""
    return (torch.randint(20, (2, 5)),)


BATCH = ({0: Dim("batch")},)


def changed(program: ExportedProgram, change: Callable[[torch.fx.Graph], None]) -> ExportedProgram:
    """A copy with a changed graph."""
    program = copy.deepcopy(program)
    change(program.graph)
    program.graph_module.recompile()
    return program


def calls(graph: torch.fx.Graph, target: object) -> list[torch.fx.Node]:
    """The calls of an operator; there is one."""
    found = [node for node in graph.nodes if node.target is target]
    assert found, f"no {target} in {[n.target for n in graph.nodes]}"
    return found


def replaced(program, before, after):
    """Another operator in the place of the first call of one."""

    def change(graph):
        calls(graph, before)[0].target = after

    return changed(program, change)


def with_argument(program, target, index, value):
    """Another argument of the first call of an operator."""

    def change(graph):
        node = calls(graph, target)[0]
        arguments = [*node.args[:index], value, *node.args[index + 1 :]]
        node.args = tuple(arguments)

    return changed(program, change)


def removed(program, target):
    """A call left out; its first argument stands for its result."""

    def change(graph):
        node = calls(graph, target)[0]
        node.replace_all_uses_with(node.args[0])
        graph.erase_node(node)

    return changed(program, change)


def after(program, result, target):
    """An operator on the way to a result."""

    def change(graph):
        output = graph.output_node()
        values = list(output.args[0])
        with graph.inserting_before(output):
            made = graph.call_function(target, (values[result],))
            made.meta.update(values[result].meta)
        values[result] = made
        output.args = (tuple(values),)

    return changed(program, change)


# ---------------------------------------------------------------------------------- wrong operators
@fault(Mlp, rows, "values", "aten.relu", "y = self.norm(torch.relu(self.first(x)))", BATCH)
def wrong_activation(program):
    """Another activation."""
    return replaced(program, aten.relu.default, aten.sigmoid.default)


@fault(
    Mlp, rows, "values", "aten.native_layer_norm", "y = self.norm(torch.relu(self.first(x)))", BATCH
)
def wrong_epsilon(program):
    """Another epsilon of a norm."""
    return with_argument(program, aten.layer_norm.default, 4, 0.5)


@fault(Attention, words, "values", "aten.div", "scores = q @ k.transpose(1, 2) / 8**0.5")
def wrong_scale(program):
    """Another scale."""
    return with_argument(program, aten.div.Tensor, 1, 8.0)


@fault(
    Attention,
    words,
    "values",
    "aten._softmax",
    'weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)',
)
def softmax_over_the_wrong_dimension(program):
    """Another dimension."""
    return with_argument(program, aten.softmax.int, 1, 1)


@fault(
    Attention,
    words,
    "values",
    "aten.tril",
    "mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()",
)
def mask_of_the_other_triangle(program):
    """What is to come instead of what was."""
    return replaced(program, aten.tril.default, aten.triu.default)


@fault(Pooled, images, "values", "aten.amax", "return y.amax((2, 3)), y.mean((2, 3))")
def least_for_greatest(program):
    """The other end."""
    return replaced(program, aten.amax.default, aten.amin.default)


@fault(Pooled, images, "values", "aten.convolution", "y = torch.relu(self.bn(self.conv(x)))")
def padding_forgotten(program):
    """Sizes that the pooling hides."""
    return with_argument(program, aten.conv2d.default, 4, [0, 0])


@fault(Table, ids, "values", "aten.sort", "order = rows.sum(-1).argsort(-1)")
def order_reversed(program):
    """Indices in descending order."""

    def change(graph):
        node = calls(graph, aten.argsort.default)[0]
        node.args = (node.args[0], -1, True)

    return changed(program, change)


@fault(Table, ids, "values", "aten.mean", "return rows.mean(1), order")
def sum_for_mean(program):
    """What is not divided."""
    return replaced(program, aten.mean.dim, aten.sum.dim_IntList)


@fault(Decided, square, "values", "aten.mul", "return y * 3")
def wrong_in_a_side(program):
    """Another factor within a subgraph."""

    def change(graph):
        sides = [
            module for module in graph.owning_module.modules() if module is not graph.owning_module
        ]
        for side in sides:
            for node in getattr(side, "graph", graph).nodes:
                if node.target is aten.mul.Tensor:
                    node.args = (node.args[0], 4)
            side.recompile()

    return changed(program, change)


@fault(Decided, square, "values")
def sides_exchanged(program):
    """The other side of a condition."""

    def change(graph):
        for node in graph.nodes:
            if node.target is torch.ops.higher_order.cond:
                predicate, one, other, *rest = node.args
                node.args = (predicate, other, one, *rest)

    return changed(program, change)


@fault(
    Mlp, rows, "values", "aten.native_layer_norm", "y = self.norm(torch.relu(self.first(x)))", BATCH
)
def wrong_decomposition(program):
    """As a wrong formula of a lowering would: the variance without its mean."""
    program = program.run_decompositions()

    def change(graph):
        norm = [node for node in graph.nodes if "layer_norm" in str(node.target)]
        norm[0].args = (*norm[0].args[:4], 0.3)

    return changed(program, change)


# ------------------------------------------------------------------------------------------- guards
@fault(Branch, rows, "raises", shapes=({0: Dim.AUTO},))
def guard_dropped(program):
    """The branch on the size is not among the relations any more."""
    program = copy.deepcopy(program)
    [(symbol, _, _)] = program.contract.ranges
    program.contract = dataclasses.replace(
        program.contract,
        guards=tuple(
            g for g in program.contract.guards if symbol not in relation_symbols(g.relation)
        ),
        ranges=((symbol, 0, None),),
    )
    return program


@fault(Mlp, rows, "raises", "aten.addmm", "return self.second(y)", BATCH)
def assertion_stricter_than_the_module(program):
    """An operator that fails at sizes the module takes."""

    def change(graph):
        with graph.inserting_before(graph.output_node()):
            value = next(node for node in graph.nodes if node.target is aten.relu.default)
            graph.call_function(aten.narrow.default, (value, 0, 0, 2))

    return changed(program, change)


# ----------------------------------------------------------------------- layout, aliasing, mutation
class Transposed(nn.Module):
    """A result that is not contiguous."""

    def forward(self, x):
        y = x.t() + 1
        return y * 2


@fault(Transposed, square, "strides")
def contiguous_where_transposed(program):
    """Equal values that lie otherwise."""
    return after(program, 0, aten.contiguous.default)


@fault(Views, square, "memory")
def copy_of_a_view(program):
    """A result that shares nothing any more."""
    return after(program, 1, aten.clone.default)


@fault(Views, square, "memory")
def view_of_what_was_new(program):
    """A view became a new tensor."""

    def change(graph):
        output = graph.output_node()
        first, second, third = output.args[0]
        with graph.inserting_before(output):
            made = graph.call_function(aten.mul.Tensor, (first, 1))
        output.args = ((made, second, third),)

    return changed(program, change)


@fault(Writes, two, "values")
def write_to_an_input_lost(program):
    """What the caller gave stays as it was."""

    def change(graph):
        node = calls(graph, aten.add_.Tensor)[0]
        node.target = aten.add.Tensor

    return changed(program, change)


@fault(Counter, square, "values")
def write_to_a_buffer_lost(program):
    """A buffer stays as it was."""

    def change(graph):
        node = calls(graph, aten.copy_.default)[0]
        node.args = (node.args[0], node.args[0])

    return changed(program, change)


@fault(Counter, square, "values")
def counts_by_two(program):
    """Another number is added to a buffer."""
    return with_argument(program, aten.add_.Tensor, 1, 2)


# -------------------------------------------------------------------------------------------- state
@fault(Mlp, rows, "state", shapes=BATCH)
def weights_swapped(program):
    """Rows of a weight in another order."""
    program = copy.deepcopy(program)
    weight = program.state_dict["first.weight"]
    program.state_dict["first.weight"] = nn.Parameter(weight.detach().flip(0))
    return program


@fault(Mlp, rows, "state", shapes=BATCH)
def one_number_of_a_weight_changed(program):
    """A thousandth, once."""
    program = copy.deepcopy(program)
    with torch.no_grad():
        program.state_dict["second.bias"][2] += 1e-3
    return program


@fault(Pooled, images, "state")
def statistics_of_another_run(program):
    """Another running variance."""
    program = copy.deepcopy(program)
    program.state_dict["bn.running_var"].mul_(1.5)
    return program


@fault(Mlp, rows, "gradients", shapes=BATCH)
def gradient_cut(program):
    """Equal values that gradients do not pass."""

    def change(graph):
        relu = calls(graph, aten.relu.default)[0]
        with graph.inserting_after(relu):
            cut = graph.call_function(aten.detach.default, (relu,))
        relu.replace_all_uses_with(cut, delete_user_cb=lambda user: user is not cut)

    return changed(program, change)


@fault(Mlp, rows, "state", shapes=BATCH)
def another_file(program):
    """The program of a module that was trained on."""
    module = Mlp()
    return monograph.export(module, rows(), dynamic_shapes=BATCH)


@fault(Mlp, rows, "type", shapes=BATCH)
def rounded_to_half(program):
    """Another dtype."""

    def change(graph):
        output = graph.output_node()
        [value] = output.args[0]
        with graph.inserting_before(output):
            made = graph.call_function(aten.to.dtype, (value, torch.float16))
        output.args = ((made,),)

    return changed(program, change)
