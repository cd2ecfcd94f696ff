"""What follows an `if` is recorded once: chains of them cost what they are long, of every kind."""

import gc
import io
import linecache
import sys

import pytest
import torch

import monograph
from bench import control_flow
from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.control_flow.branches import branch_capture

HEADS = {
    "break": "for i in range({n}):\n    if y[0] > i:\n        break\n    y = y * 2",
    "nested break": (
        "for i in range({n}):\n    if y[0] > i:\n        if x[1] > i:\n            break\n"
        "        y = y + 1\n    y = y * 2"
    ),
    "nested continue": (
        "for i in range({n}):\n    if y[0] > i:\n        if x[1] > i:\n            continue\n"
        "        y = y + 1\n    y = y * 2"
    ),
    "return from a loop": (
        "for i in range({n}):\n    if y[0] > i:\n        if x[1] > i:\n            return y * i\n"
        "        y = y + 1\n    y = y * 2"
    ),
}
"""Loops of n rounds."""

LINKS = {
    "plain": "if x[{i}] > {k}:\n    y = y + {k}",
    "two sides": "if x[{i}] > {k}:\n    y = y + {k}\nelse:\n    y = y.cos()",
    "return": "if x[{i}] > {k}:\n    return y + {k}\ny = y * 2",
    "nested": "if x[{i}] > {k}:\n    if y[0] > {k}:\n        y = y + {k}\nelse:\n    y = y - 1",
    "nested return": "if x[{i}] > {k}:\n    if y[0] > {k}:\n        return y + {k}\ny = y * 2",
    "return three deep": (
        "if x[{i}] > {k}:\n    if y[0] > {k}:\n        if y[1] > 0:\n            return y\n"
        "        y = y - 1\ny = y * 2"
    ),
    "and": "if x[{i}] > {k} and y[0] > 1:\n    y = y + {k}",
    "or": "if (x[{i}] > {k} and y[0] > 1) or y[1] > {k}:\n    return y + {k}\ny = y * 2",
    "in place": "if x[{i}] > {k}:\n    if z[0] > {k}:\n        return y\n    z.add_(1)\ny = y + z",
    "number": "if x[{i}] > {k}:\n    count = count + 1",
    "none": "m = None\nif x[{i}] > {k}:\n    m = y\ny = y * 2\nif m is not None:\n    y = y + m",
    "helper": "y = helper(y, {k})",
}
"""One of n pieces."""


def helper(y, k):
    """Return early, under two conditions."""
    if y[0] > k:
        if y[1] > k:
            return y + k
        y = y - k
    return y * 2


def chain(kind: str, n: int) -> torch.nn.Module:
    """A program of n conditions, one after the other."""
    if kind in HEADS:
        body = HEADS[kind].format(n=n)
    else:
        body = "\n".join(LINKS[kind].format(i=k % 3, k=k) for k in range(n))
    lines = ["y, z, count = x + 1, x * 2, 0", *body.splitlines(), "return y * count"]
    source = "def forward(self, x):\n" + "".join(f"    {line}\n" for line in lines)
    name = f"<{kind} {n}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"torch": torch, "helper": helper}
    exec(compile(source, name, "exec"), names)
    return type("Chain", (torch.nn.Module,), {"forward": names["forward"]})()


def n_nodes(program) -> int:
    """How many nodes are in all the graphs of a program."""
    return sum(len(graph.nodes) for graph in graphs_in(program.graph_module))


def graphs_in(module):
    """The graph of a module, and those of its subgraphs."""
    return [each.graph for each in module.modules() if isinstance(each, torch.fx.GraphModule)]


@pytest.mark.parametrize("kind", [*HEADS, *LINKS])
def test_a_chain_of_conditions_costs_what_it_is_long(kind, monkeypatch):
    """Neither what is recorded nor what the program holds grows faster than the chain."""
    held = []
    for n in (5, 20):
        monkeypatch.setattr(branch_capture, "_MOST_BRANCHES", 30 * n)  # more are refused
        program = monograph.export(chain(kind, n), (torch.ones(3),), control_flow="capture")
        held.append(n_nodes(program) / n)
    assert held[1] <= held[0] * 1.1
    eager, made = chain(kind, 20), program.module()
    for k in range(6):
        x = torch.randn(3, generator=torch.Generator().manual_seed(k)) * 12
        torch.testing.assert_close(made(x.clone()), eager(x.clone()), rtol=0, atol=0)


def calls(module, example) -> int:
    """How many functions an export calls, of Python and of C: what it costs, on any machine."""
    found = 0

    def tell(_frame, event, _argument):
        nonlocal found
        found += event in {"call", "c_call"}

    monograph.export(module, example)  # whatever is made once has been made
    gc.collect()  # what other tests left has finalisers, too
    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        monograph.export(module, example)
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("kind", [*HEADS, *LINKS])
def test_capturing_a_chain_costs_what_it_is_long(kind):
    """Nothing walks through what was recorded before, at any condition."""
    short, middle, long = (calls(chain(kind, n), (torch.ones(3),)) for n in (4, 8, 16))
    assert (long - middle) / 8 <= (middle - short) / 4 * 1.1


@pytest.mark.parametrize("kind", control_flow.CHAINS)
def test_both_ways_cost_at_most_three_times_the_longest(kind):
    """Of whole exports, and of what each condition more adds to them."""
    example = (torch.ones(2, control_flow.SIZE),)
    some, more = (
        [calls(control_flow.program(kind, n, longest=one), example) for one in (False, True)]
        for n in (10, 20)
    )
    assert more[0] <= 3 * more[1]
    assert (more[0] - some[0]) / (more[1] - some[1]) <= MARGINAL[kind]


MARGINAL = {
    "one operator": 3.3,
    "a layer": 2.2,
    "a layer on either side": 2.9,
    "a layer, and a return": 2.2,
    "a layer, a return under two": 3,
}
"""What a condition more costs, in the longest ways: an operator is less than a branch is."""


def fibonacci(n):
    """Calls itself twice."""
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def hanoi(n):
    """Calls itself deeper than branches are recorded."""
    return 0 if n == 0 else 2 * hanoi(n - 1) + 1


def divisor(a, b=12):
    """Divides by what is zero where the example is another."""
    return a if b == 0 else divisor(b, a % b)


def collatz(n):
    """Quotients of quotients."""
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("number", [fibonacci, hanoi, divisor, collatz])
def test_what_asks_a_size_again_and_again_is_given_up_in_time(number, strict):
    """Both ways of all branches, or the exact number, would take minutes."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return x * number(x.shape[0])

    called = 0

    def tell(_frame, event, _argument):
        nonlocal called
        called += event == "call"
        assert called < 4_000_000

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        program = monograph.export(
            Model(), (torch.ones(7, 2),), dynamic_shapes=({0: monograph.Dim.AUTO},), strict=strict
        )
    finally:
        sys.setprofile(before)
    run = program.module()
    assert torch.equal(run(torch.ones(7, 2)), Model()(torch.ones(7, 2)))
    for size in (2, 3, 12):
        x = torch.ones(size, 2)
        try:
            assert torch.equal(run(x), Model()(x))
        except monograph.ContractError:
            continue


@pytest.mark.slow
def test_a_loop_without_end_in_branches_is_refused():
    """What one way raises, and the loop around it catches, is not where the loop ends."""

    class Model(torch.nn.Module):
        def forward(self, x, d):
            y, rounds = d * 2, 0
            while rounds < 3 and len(d.nonzero()) > 1:
                rounds += 1
                try:
                    if not (x > 0).any():
                        raise AssertionError
                    y = y + 1
                except AssertionError:
                    y = y - 1
            return y, rounds

    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(Model(), (torch.randn(3), torch.ones(3)))
    assert caught.value.diagnostic.name == "branches-multiply"


@pytest.mark.parametrize("kind", ["return", "nested return", "break"])
def test_a_chain_of_conditions_is_saved_and_loaded(kind):
    """Each is inside of the one before."""
    program, file = monograph.export(chain(kind, 30), (torch.ones(3),)), io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    made, eager = monograph.load(file).module(), chain(kind, 30)
    for k in range(4):
        x = torch.randn(3, generator=torch.Generator().manual_seed(k)) * 12
        torch.testing.assert_close(made(x.clone()), eager(x.clone()), rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["two sides", "nested return", "helper", "in place"])
def test_nobody_looks_on_while_ways_are_recorded(kind, monkeypatch):
    """They are interpreted; a listener would be told of each call that the capture itself makes."""
    set_to = []
    monkeypatch.setattr(CALL_EVENTS, "tell", set_to.append)
    monograph.export(chain(kind, 5), (torch.ones(3),))
    assert set_to == []
