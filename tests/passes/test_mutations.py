"""Functional graphs do what eager does: values, visible writes, aliases among what is returned."""

import pytest
import torch
from torch import Tensor, nn
from torch.library import custom_op

import monograph
from tests.contract.forms import Form
from tests.contract.judging import AGREES, exported, judged
from tests.contract.registry import Call, Probe, module_of
from tests.passes.mutations import INPUTS, PROGRAMS
from tests.seeding import reseed

FORMS = {
    "before": lambda program: program.module(),
    "functional": lambda program: program.run_decompositions({}).module(),
    "core": lambda program: program.run_decompositions().module(),
    "twice": lambda program: program.run_decompositions().run_decompositions().module(),
}


def export(module, args, kwargs, shapes):
    """Export as plain Python."""
    return monograph.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name, form):
    """Called twice, it agrees with the module called twice."""
    call = Call(INPUTS[name], times=2)
    build = module_of(name, PROGRAMS[name])
    probe = Probe(name, "write", build, call, {"twice": call})
    made = Form(form, export, monograph.Dim, FORMS[form])
    program, verdict = exported(probe, made)
    assert program is not None, str(verdict)
    verdict = judged(probe, program, made, call)
    assert verdict.kind == AGREES, str(verdict)
    assert not verdict.raised, "eager raises: the program shows nothing"


@pytest.mark.parametrize("form", ["functional", "core"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_operator_writes(name, form):
    """Functional graphs call no operator that writes, in subgraphs either, and torch agrees."""
    module = module_of(name, PROGRAMS[name])()
    program = monograph.export(module, INPUTS[name](), strict=False)
    lowered = program.run_decompositions({} if form == "functional" else None)
    graphs = [m for m in lowered.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    nodes = [node for each in graphs for node in each.graph.nodes]
    called = [node.target for node in nodes if isinstance(node.target, torch._ops.OpOverload)]
    assert not [str(each) for each in called if each._schema.is_mutable]


def test_there_are_sixty():
    """The list is as long as it was meant to be."""
    assert len(PROGRAMS) >= 60


def _rows_added(x, y):
    """Without rows it is `y` itself."""
    for row in y:
        y = y + row.sum()
    return y.detach_()


def _on_one_side(x, y):
    if x.sum() > 0:
        y = y * 2
    return y.detach_()


def _dropped(x, y):
    """Without elements it is `y` itself."""
    return nn.functional.dropout(y, 1.0).unsqueeze_(0)


@pytest.mark.parametrize("forward", [_rows_added, _on_one_side, _dropped])
def test_what_may_be_an_input_is_not_changed_in_a_copy(forward):
    """A loop or a branch may give what it is given: the caller's tensor is to be changed, too."""
    module = type("Module", (nn.Module,), {"forward": staticmethod(forward)})()
    auto = monograph.Dim.AUTO
    x, y = torch.ones(3), torch.randn(4, 2)
    program = monograph.export(module, (x, y.clone()), dynamic_shapes=({}, {0: auto}))
    given = y.clone() if forward is _on_one_side else torch.randn(0, 2)
    assert program.module()(-x, given) is given
    with pytest.raises(monograph.MonographError, match="an input") as caught:
        program.run_decompositions({})
    assert caught.value.diagnostic.name == "not-functional"


def test_a_parameter_written_twice_is_refused():
    """Between two writes there is a value whose gradient a graph of values loses."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.no_grad():
                self.weight.mul_(2)
            y = x * self.weight
            with torch.no_grad():
                self.weight.add_(1)
            return y + self.weight

    program = export(Twice(), (torch.ones(3),), {}, None)
    with pytest.raises(monograph.MonographError) as caught:
        program.run_decompositions()
    assert caught.value.diagnostic.name == "not-functional"
    assert "weight" in str(caught.value)


OVERLAPPING = {
    "rows below": lambda x: x[:3].add_(x[1:]),
    "copied rows": lambda x: x[:3].copy_(x[1:]),
    "transposed": lambda x: x.mul_(x.t()),
    "one row": lambda x: x.add_(x[0]),
    "into a part": lambda x: torch.add(x[:2], x[1:3], out=x[:2]),
}
"""What is read lies at other places of the memory that is written: PyTorch refuses when it runs."""

APART = {
    "itself": lambda x: x.add_(x),
    "another row": lambda x: x[0].add_(x[1]),
    "the same view": lambda x: x.t().mul_(x.t()),
    "another shape": lambda x: x.view(-1).add_(x.view(-1)),
    "a copy": lambda x: x.add_(x.t().clone()),
    "only read": lambda x: x.copy_(torch.add(x[:3], x[1:]).sum()),
    "into the rest": lambda x: torch.add(x[:1], x[1:2], out=x[2:3]),
    "rows of a list": lambda x: doubled_and_counted(x[:1], [x[1], x[2:]]),
    "each by itself": lambda x: torch._foreach_mul_([x[0], x[1:]], [x[0], x[1:]]),
}


def copied_and(change):
    """Give a module that changes a copy of its input."""

    def forward(x):
        y = x * 1
        change(y)
        return y

    return type("Changes", (nn.Module,), {"forward": staticmethod(forward)})()


@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_operands_are_refused(name):
    """Eager raises in the operator, and lowering at its line; nothing is made up."""
    module, x = copied_and(OVERLAPPING[name]), torch.randn(4, 4)
    with pytest.raises(RuntimeError, match="single memory location"):
        module(x)
    with pytest.raises(monograph.MonographError, match="overlaps in memory") as caught:
        export(module, (x,), {}, None).run_decompositions({})
    assert caught.value.diagnostic.name == "not-functional"


@pytest.mark.parametrize("name", APART)
def test_operands_that_do_not_overlap_are_lowered(name):
    """Neither one tensor with itself, nor parts beside each other."""
    module, x = copied_and(APART[name]), torch.randn(4, 4)
    program = export(module, (x,), {}, None).run_decompositions()
    torch.testing.assert_close(program.module()(x), module(x))


@custom_op("passes::doubled_and_counted", mutates_args=("x", "rest"))
def doubled_and_counted(x: Tensor, rest: list[Tensor]) -> Tensor:
    """An operator without a functional form: copies of what it writes to are handed over."""
    x.mul_(2)
    for each in rest:
        each.add_(1)
    return x.sum()


@doubled_and_counted.register_fake
def _(x, rest):
    return x.new_empty(())


MEETING = {
    "in a list": lambda x: doubled_and_counted(x[:2], [x[1:3]]),
    "itself": lambda x: doubled_and_counted(x, [x]),
    "twice in a list": lambda x: doubled_and_counted(x[3], [x[0], x[0]]),
    "each of a list": lambda x: torch._foreach_add_([x, x[:2]], 1),
    "the other of a list": lambda x: torch._foreach_add_([x[0], x[1]], [x[1], x[0]]),
}
"""Two arguments are of the same memory, which one of them is written through: eager does that."""


@pytest.mark.parametrize("name", MEETING)
def test_arguments_that_are_written_through_each_other_are_refused(name):
    """Two copies of one piece of memory would not see each other's writes."""
    module, x = copied_and(MEETING[name]), torch.randn(4, 4)
    program = export(module, (x,), {}, None)
    torch.testing.assert_close(program.module()(x), module(x))
    with pytest.raises(monograph.MonographError, match="overlaps in memory") as caught:
        program.run_decompositions({})
    assert caught.value.diagnostic.name == "not-functional"


def test_strided_writes_are_lowered_at_any_size():
    """Strides that pass what is below them meet each element once, whatever the sizes are."""

    class Filled(nn.Module):
        def forward(self, x):
            y = x * 1
            y.fill_diagonal_(3)
            y.as_strided((2,), (x.shape[1] + 1,)).add_(1)
            return y

    dim = monograph.Dim.AUTO
    program = export(Filled(), (torch.ones(4, 5),), {}, {"x": {0: dim, 1: dim}})
    lowered = program.run_decompositions().module()
    for shape in [(3, 3), (6, 9), (2, 7)]:
        x = torch.randn(shape)
        torch.testing.assert_close(lowered(x), Filled()(x))


def test_integers_of_a_range_are_drawn_in_every_form():
    """The overload is called `from`, a word of Python."""

    class Draws(nn.Module):
        def forward(self, x):
            return x + torch.empty(3).random_(2, 9), torch.rand(2)

    program, x = export(Draws(), (torch.ones(3),), {}, None), torch.zeros(3)
    names = {}
    exec(program.to_python(), names)
    forms = [form(program) for form in FORMS.values()]
    for form in [*forms, lambda x: names["forward"]({}, x)]:
        reseed(0)
        expected = Draws()(x)
        reseed(0)
        torch.testing.assert_close(form(x), expected)


def _bits_within(x):
    with torch.enable_grad():
        x.view(torch.int32).zero_()


def _bits_within_two(x):
    with torch.no_grad(), torch.enable_grad():
        y = x + 1
        with torch.autocast("cpu"):
            x.view(torch.int32).zero_()
    return x, y


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forward", [_bits_within, _bits_within_two])
def test_writes_beneath_the_history_of_an_input_in_a_region(forward, form, grad):
    """A leaf that needs gradients takes them as it does in eager code."""
    module = type("Module", (nn.Module,), {"forward": staticmethod(forward)})()
    program = FORMS[form](monograph.export(module, (torch.ones(3),)))
    x, given = (torch.ones(3, requires_grad=grad) for _ in range(2))
    made, expected = program(given), forward(x)
    assert given.tolist() == x.tolist() == [0, 0, 0]
    assert given.is_leaf
    if expected is not None:
        assert made[0] is given
        assert [each.requires_grad for each in made] == [each.requires_grad for each in expected]
