"""Captures in several threads at once: each is right, and no other thread notices."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from monograph import export
from monograph.diagnostics import MonographError

_LONGEST = 60.0


@torch.library.custom_op("monograph_threads::gate", mutates_args=())
def gate(x: torch.Tensor) -> torch.Tensor:
    """An operator whose fake kernel runs during a capture, natively and unwatched."""
    return x.clone()


_INSIDE: list = []


@gate.register_fake
def _(x):
    for function in _INSIDE:
        function()
    return torch.empty_like(x)


class Gated(nn.Module):
    """Reads its parameters and its mode, with an operator in between that a test can hold up."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        y = self.linear(gate(x))
        return y * self.scale if self.training else y


@pytest.fixture
def inside():
    """Functions that run while a `Gated` is captured."""
    yield _INSIDE
    _INSIDE.clear()


@pytest.mark.parametrize("strict", [True, False])
def test_a_thread_started_in_forward_may_export(inside, strict) -> None:
    """What forward starts and waits for exports another module."""
    programs, linear = [], nn.Linear(2, 2)

    def export_there():
        target = lambda: programs.append(export(linear, (torch.ones(1, 2),)))  # noqa: E731
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        thread.join(_LONGEST)

    inside.append(export_there)
    export(Gated(), (torch.ones(2, 3),), strict=strict)
    assert programs, "the export in the other thread ended"
    x = torch.randn(1, 2)
    assert torch.equal(programs[0].module()(x), linear(x))


@pytest.mark.parametrize("strict", [True, False])
def test_other_threads_notice_nothing(inside, strict) -> None:
    """Modes, switches and the module itself are for other threads what they are without it."""
    module, x = Gated(), torch.ones(2, 3)
    told = torch.compiler.is_compiling, torch.compiler.is_exporting, gc.isenabled
    expected = module(x)
    before, seen = [each() for each in told], []

    def look():
        optimiser = torch.optim.SGD(module.parameters(), 0.0)
        loss = module(x)
        loss.sum().backward()
        optimiser.step()
        state = {name: type(value) for name, value in module.state_dict().items()}
        seen.append(([each() for each in told], loss.detach(), state, module.linear.weight.grad))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(len, ()).result()
        inside.append(lambda: pool.submit(look).result(_LONGEST))
        export(module, (x,), strict=strict)
    ((answers, result, state, gradient),) = seen
    assert answers == before
    assert torch.equal(result, expected)
    assert set(state.values()) == {torch.Tensor}
    assert torch.equal(gradient, torch.full((4, 3), 4.0))


def test_torch_is_as_before_after_the_last_capture(inside) -> None:
    """Its functions are themselves again, though captures overlap and end in another order."""
    watched = (
        *((torch, name) for name in ("tensor", "as_tensor", "is_grad_enabled", "result_type")),
        *((nn.Module, name) for name in ("__call__", "__setattr__", "_get_backward_hooks")),
        *((torch.no_grad, "__enter__"), (torch.autocast, "__exit__"), (torch.SymInt, "__hash__")),
    )
    before = [vars(owner)[name] for owner, name in watched]
    codes = [torch.compiler.is_compiling.__code__, nn.Module.__call__.__code__]
    ended, entered = threading.Event(), threading.Event()

    def first():
        entered.set()
        ended.wait(_LONGEST)

    with ThreadPoolExecutor(1) as pool:
        inside.append(first)
        outer = pool.submit(export, Gated(), (torch.ones(2, 3),))
        entered.wait(_LONGEST)
        inside.clear()
        export(Gated(), (torch.ones(2, 3),))
        ended.set()
        outer.result(_LONGEST)
    assert [vars(owner)[name] for owner, name in watched] == before
    assert "training" not in vars(nn.Module)
    assert [torch.compiler.is_compiling.__code__, nn.Module.__call__.__code__] == codes


def test_an_export_inside_an_export_is_refused(inside) -> None:
    """In the same thread."""
    inside.append(lambda: export(nn.Linear(2, 2), (torch.ones(1, 2),)))
    with pytest.raises(MonographError, match="capture-inside-capture"):
        export(Gated(), (torch.ones(2, 3),))


def stack(width, depth):
    """A model of its own."""
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers, nn.Dropout(0.5), nn.BatchNorm1d(width)).eval()


def test_many_threads_export_while_others_run() -> None:
    """Eight threads export modules of their own and four run theirs: all results are right."""
    stop = threading.Event()

    def exports(number):
        for turn in range(3):
            module, x = stack(number + 2, turn + 1), torch.randn(4, number + 2)
            program = export(module, (x,), strict=turn % 2 == 0)
            y = torch.randn(4, number + 2)
            torch.testing.assert_close(program.module()(y), module(y))
        return True

    def runs(number):
        module, x = stack(number + 2, 2), torch.randn(4, number + 2)
        expected = module(x)
        while not stop.is_set():
            assert torch.equal(module(x), expected)
            assert not torch.compiler.is_compiling()
            module.train()(x).sum().backward()
            module.eval()
            for each in module[-1].buffers():
                each.copy_(torch.zeros_like(each) if each is not module[-1].running_var else 1.0)
            expected = module(x)
        return True

    with ThreadPoolExecutor(12) as pool:
        running = [pool.submit(runs, number) for number in range(4)]
        exported = [pool.submit(exports, number) for number in range(8)]
        try:
            assert all(each.result(_LONGEST) for each in exported)
        finally:
            stop.set()
        assert all(each.result(_LONGEST) for each in running)


def test_threads_that_export_one_module_take_turns() -> None:
    """Each has a right program, also where forward sets attributes."""

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.last = None

        def forward(self, x):
            self.last = self.linear(x)
            result = self.last + 1
            self.last = None
            return result

    module, x = Counting(), torch.randn(2, 3)
    with ThreadPoolExecutor(4) as pool:
        programs = list(pool.map(lambda _: export(module, (x,)), range(8), timeout=_LONGEST))
    assert all(torch.equal(each.module()(x), module(x)) for each in programs)
    assert type(module.linear._parameters) is dict


def test_the_collector_is_left_alone() -> None:
    """What the user has frozen stays frozen, and collections go on."""
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        export(Gated(), (torch.ones(2, 3),))
        assert gc.get_freeze_count() >= frozen - frozen // 100
        assert gc.isenabled()
    finally:
        gc.unfreeze()


def test_nothing_of_an_export_stays() -> None:
    """Neither the class nor a tensor of it is alive when the program is gone."""
    left = []
    for number in range(30):
        space: dict = {}
        source = (
            f"def forward(self, x):\n    return self.linear(x) + {number} if x.shape[0] > 1 else x"
        )
        exec(source, space)
        kind = type("Fresh", (nn.Module,), {"forward": space["forward"]})
        module = kind()
        module.linear = nn.Linear(3, 3)
        export(module, (torch.ones(2, 3),), strict=number % 3 != 0)
        left += [weakref.ref(each) for each in (kind, module.linear.weight)]
        del kind, module, space
    gc.collect()
    assert not [each() for each in left if each() is not None]


class Allocates(nn.Module):
    """Makes many objects, so that the collector runs in the middle of forward."""

    def forward(self, x):
        y = x * 2
        return y + len([[i] for i in range(3000)])


@pytest.mark.parametrize("strict", [True, False])
def test_what_a_collection_calls_is_not_held_against_forward(strict):
    """Callbacks of the collector read clocks; forward does not."""
    seen, done = [], threading.Event()
    idle = threading.Thread(target=done.wait)  # with another thread, the collector goes on

    def callback(phase, _info):
        seen.append((phase, time.perf_counter()))

    idle.start()
    gc.callbacks.append(callback)
    try:
        program = export(Allocates(), (torch.ones(3),), strict=strict)
    finally:
        gc.callbacks.remove(callback)
        done.set()
        idle.join()
    assert seen
    assert torch.equal(program.module()(torch.ones(3)), torch.ones(3) * 2 + 3000)


GENERATOR = torch.Generator().manual_seed(1)


class Draws(nn.Module):
    """Goes on with a generator of the file, of which a second run looks for the line."""

    def forward(self, x):
        return x + torch.rand(3, generator=GENERATOR)


def test_nothing_watches_a_collection_wherever_it_begins():
    """The line at which something is written to is looked for in forward, not in callbacks."""
    seen, done, before = set(), threading.Event(), gc.get_threshold()
    idle = threading.Thread(target=done.wait)

    def callback(_phase, _info):
        seen.add(type(sys.getprofile()))

    idle.start()
    gc.callbacks.append(callback)
    try:
        for threshold in (1, 2, 3):
            gc.set_threshold(threshold)
            with pytest.raises(MonographError) as refused:
                export(Draws(), (torch.ones(3),), strict=False)
            gc.set_threshold(*before)
            assert refused.value.diagnostic.name == "write-outlives-call"
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(callback)
        done.set()
        idle.join()
    assert seen == {type(None)}


@pytest.mark.parametrize("strict", [True, False])
def test_tuples_that_other_threads_make_are_let_alone(strict):
    """`tuple(generator)` fails where anybody refers to what it has so far."""
    found, done = [], threading.Event()

    def makes():
        def until_done():
            while not done.wait(0.0001):
                yield len(found)

        try:
            found.append(len(tuple(until_done())))
        except SystemError as error:
            found.append(error)

    for _ in range(5):
        done.clear()
        other = threading.Thread(target=makes)
        other.start()
        for _ in range(5):
            export(nn.ReLU(), (torch.ones(3),), strict=strict)
        done.set()
        other.join()
    assert all(isinstance(each, int) for each in found), found
