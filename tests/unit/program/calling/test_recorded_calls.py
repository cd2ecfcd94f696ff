"""Programs that are exported again: graphs, metadata and contracts; refusals leave no trace."""

from collections import Counter

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import ContractError, MonographError

pytestmark = pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])


class Inner(nn.Module):
    """Normalises where gradients are off, then a layer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        """Two operators, of which the first is in a region."""
        with torch.no_grad():
            y = x - x.mean()
        return self.layer(y)


class Outer(nn.Module):
    """Assertions, a branch, a loop, and one module called twice."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, n, x):
        """All of it."""
        count = n.item()
        torch._check(count >= 0, lambda: "none of fewer")
        torch._check(count < 10)
        if n > 2:
            x = self.inner(x)
        for _ in range(count):
            x = x * 2
        return self.inner(x)


EXAMPLE = (torch.tensor(3), torch.randn(4, 4))


def described(program):
    """What each operator is, by its line and its modules."""
    return Counter(
        (
            str(node.target),
            (node.meta.get("stack_trace") or "").strip(),
            tuple((node.meta.get("nn_module_stack") or {}).items()),
        )
        for node in program.graph.nodes
        if node.op == "call_function" and "getitem" not in str(node.target)
    )


@pytest.mark.parametrize("form", ["module", "unflattened", "twice"])
def test_operators_lines_and_modules_are_kept(strict, form):
    """Also through the modules of an unflattened program, and from one export to the next."""
    program = monograph.export(Outer(), EXAMPLE)
    module = monograph.unflatten(program) if form == "unflattened" else program.module()
    again = monograph.export(module, EXAMPLE, strict=strict)
    if form == "twice":
        again = monograph.export(again.module(), EXAMPLE, strict=strict)
    assert described(again) == described(program)
    names = [{each.fqn for each in made.module_call_graph} for made in (program, again)]
    assert names[0] == names[1]
    for number in (0, 1, 2, 3, 7):
        given = (torch.tensor(number), EXAMPLE[1])
        torch.testing.assert_close(again.module()(*given), program.module()(*given))
    with pytest.raises(RuntimeError, match="none of fewer"):
        again.module()(torch.tensor(-1), EXAMPLE[1])


def test_notes_are_kept(strict):
    """`custom` of every node."""
    program = monograph.export(Inner(), EXAMPLE[1:])
    for node in program.graph.nodes:
        if node.op == "call_function":
            node.meta["custom"] = {"tag": node.name}
    again = monograph.export(program.module(), EXAMPLE[1:], strict=strict)
    linear = again.graph.find_nodes(op="call_function", target=torch.ops.aten.linear.default)
    assert linear[0].meta["custom"] == {"tag": "linear"}


class Refusing(nn.Module):
    """Holds a program, and reads data."""

    def __init__(self, held):
        super().__init__()
        self.held = held

    def forward(self, n, x):
        """The second line is refused."""
        y = self.held(n, x)
        return y + hash(y.detach().numpy().tobytes())


def test_a_refused_export_leaves_no_trace(strict):
    """The attributes of the program's module are as before, and it runs."""
    module = monograph.export(Outer(), EXAMPLE).module()
    before = dict(vars(module))
    with pytest.raises(MonographError):
        monograph.export(Refusing(module), EXAMPLE, strict=strict)
    with pytest.raises(MonographError):
        monograph.export(module, (torch.tensor(3), torch.randn(2, 4)), strict=strict)
    assert dict(vars(module)) == before
    torch.testing.assert_close(module(*EXAMPLE), module(*EXAMPLE))


class Around(nn.Module):
    """A program within a module, twice, on what forward computes."""

    def __init__(self, held):
        super().__init__()
        self.held = held

    def forward(self, n, x):
        """The second call gets what the first gave."""
        return self.held(n, self.held(n, x + 1)) * 2


def test_a_program_within_a_module(strict):
    """Its modules are below the place where it is held; its contract holds for what it is given."""
    program = monograph.export(Outer(), EXAMPLE)
    module = Around(program.module())
    again = monograph.export(module, EXAMPLE, strict=strict)
    stacks = [node.meta.get("nn_module_stack") or {} for node in again.graph.nodes]
    keys = {key for stack in stacks for key in stack}
    assert {"L__self__held", "L__self__held@1", "L__self__held.inner.layer@1"} <= keys
    for number in (0, 3, 5):
        given = (torch.tensor(number), torch.randn(4, 4))
        torch.testing.assert_close(again.module()(*given), module(*given))
        torch.testing.assert_close(monograph.unflatten(again)(*given), module(*given))


class Asking(nn.Module):
    """Asks for a flag, a layout and a size."""

    def forward(self, x, y):
        """Each answer decides."""
        if x.requires_grad or not x.is_contiguous() or y.shape[0] > 8:
            return x + y
        y.add_(1)
        return x - y


def test_the_contract_is_kept(strict):
    """What the first program refuses, the second does."""
    rows = monograph.Dim("rows", max=8)
    shapes = {"x": {0: rows}, "y": {0: rows}}
    example = (torch.randn(4, 3), torch.randn(4, 3))
    program = monograph.export(Asking(), example, dynamic_shapes=shapes)
    again = monograph.export(program.module(), example, dynamic_shapes=shapes, strict=strict)
    refused = [
        (torch.randn(4, 3, requires_grad=True), torch.randn(4, 3)),
        (torch.randn(3, 4).t(), torch.randn(4, 3)),
        (torch.randn(9, 3), torch.randn(9, 3)),
    ]
    for given in refused:
        for each in (program, again):
            with pytest.raises(ContractError):
                each.module()(*given)
    given = [torch.randn(7, 3), torch.randn(7, 3)]
    copies = [each.clone() for each in given]
    torch.testing.assert_close(again.module()(*given), Asking()(*copies))
    assert [str(each.relation) for each in again.contract.guards] == [
        str(each.relation) for each in program.contract.guards
    ]
