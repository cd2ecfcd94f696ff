"""Strict capture: what interpreting user code sees that running it does not."""

from __future__ import annotations

import datetime as dt
import functools
import io
import math
import os
import random
import time
import traceback
import uuid
from pathlib import Path

import numpy as np
import pytest
import torch

import monograph
from monograph import Dim, export, save
from monograph.diagnostics import DataDependentError, MonographError, SideEffectError


def of(function, **attributes):
    """Make a module whose forward is this function."""
    made = torch.nn.Module.__new__(type("Model", (torch.nn.Module,), {"forward": function}))
    torch.nn.Module.__init__(made)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def agrees(module, *sizes, example=4):
    """Captured with a dynamic first size, the program answers as eager at these sizes."""
    program = export(module, (torch.randn(example, 3),), dynamic_shapes={"x": {0: Dim("n")}})
    for size in sizes:
        x = torch.randn(size, 3)
        got, wanted = program.module()(x), module(x)
        assert type(got) is type(wanted)
        torch.testing.assert_close(got, wanted)
    return program


def refused(module, name, *args):
    """The capture is refused by this name; gives the message."""
    with pytest.raises(MonographError) as caught:
        export(module, args or (torch.ones(4, 3),), control_flow="refuse")
    assert caught.value.diagnostic.name == name, str(caught.value)
    return str(caught.value)


# --- sizes stay symbolic -----------------------------------------------------------------------


def rows(self, x):
    """Multiply by the number of rows."""
    return x * len(x)


def whole(self, x):
    """Multiply by a size as an int."""
    return x * int(x.shape[0])


def halves(self, x):
    """Multiply by half a size."""
    return x * int(x.shape[0] / 2)


def real(self, x):
    """Multiply by a size as a float."""
    return x * float(x.shape[0])


def both(self, x):
    """Take a size apart."""
    quotient, rest = divmod(x.shape[0], 3)
    return x * quotient + rest


def largest(self, x):
    """Choose the largest of sizes."""
    return x * max(x.shape[0], 6) + max([x.shape[0], x.shape[1], 2])


def smallest(self, x):
    """Cut at the smallest of sizes."""
    return x[: min(len(x), 5)]


def root(self, x):
    """Divide by the root of a size."""
    return x / math.sqrt(x.shape[0])


def elements(self, x):
    """Multiply by the number of elements."""
    return x * x.shape.numel()


def kind(self, x):
    """Ask what kind of things they are."""
    n = x.shape[0]
    return x * n if isinstance(n, int) and type(n) is int and type(x) is torch.Tensor else x


@pytest.mark.parametrize(
    "function", [rows, whole, halves, real, both, largest, smallest, root, elements, kind]
)
def test_functions_of_sizes_stay_symbolic(function) -> None:
    """What C would turn into a plain number stays an expression of the size."""
    agrees(of(function), 1, 2, 3, 5, 6, 7, 12)


def test_text_of_a_size_fixes_it() -> None:
    """What is looked up by a text of the size is that of the example, with a guard."""

    def forward(self, x):
        return x * self.table[f"{x.shape[0]}"]

    module = of(forward, table={"4": 2.0})
    program = export(module, (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim.AUTO}})
    assert [each.value for each in program.report.specializations] == [4]


# --- what comes from outside ---------------------------------------------------------------------


OUTSIDE = {
    "random": lambda: random.random() + 0,
    "randint": lambda: random.randint(0, 3),
    "numpy": lambda: np.random.rand() + 0,  # noqa: NPY002 - what users write
    "time": lambda: time.time() + 0,
    "perf_counter": lambda: time.perf_counter() + 0,
    "now": lambda: dt.datetime.now(dt.UTC).second,
    "getenv": lambda: len(os.getenv("HOME", "")),
    "environ": lambda: len(os.environ["PATH"]),
    "environ-get": lambda: len(os.environ.get("PATH", "")),
    "open": lambda: len(Path(__file__).read_text(encoding="utf-8")),
    "id": lambda: id(object()) % 7,
    "hash": lambda: hash(object()) % 7,
    "uuid": lambda: uuid.uuid4().int % 7,
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_may_differ_between_calls_is_refused(name) -> None:
    """Read in a helper that forward calls: refused, with the line that reads it."""
    read = OUTSIDE[name]

    def forward(self, x):
        return x + read()

    message = refused(of(forward), "outside-read")
    assert f'"{name}": lambda' in message


HASHED = {
    "tensor": lambda x: x,
    "in a tuple": lambda x: (1, (x, 2)),
    "in a set": lambda x: frozenset([x]),
    "method": lambda x: x.sum,
    "class": type,
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", HASHED)
def test_hash_by_identity_is_refused(name, strict) -> None:
    """Of a tensor, of what holds one, of a bound method: in every call they lie elsewhere."""
    hashed = HASHED[name]

    def forward(self, x):
        return x * (hash(hashed(x)) % 7)

    with pytest.raises(MonographError) as caught:
        export(of(forward), (torch.ones(3),), strict=strict)
    assert caught.value.diagnostic.name == "outside-read"


def test_hash_of_values_is_no_outside_read() -> None:
    """Only an identity differs between calls."""

    def forward(self, x):
        return x + hash((1, 2)) % 3

    assert export(of(forward), (torch.ones(3),))


# --- writes --------------------------------------------------------------------------------

SEEN: list = []
COUNT = 0
FIRST: dict = {}


def to_global(self, x):
    """Count in a global."""
    global COUNT  # noqa: PLW0603 - what this is about
    COUNT += 1
    return x * COUNT


def to_global_list(self, x):
    """Collect in a global."""
    SEEN.append(x)
    return x * len(SEEN)


def to_class(self, x):
    """Count in the class."""
    type(self).calls = getattr(type(self), "calls", 0) + 1
    return x


def to_default(self, x, seen=[]):  # noqa: B006 - what this is about
    """Collect in a default."""
    seen.append(1)
    return x * len(seen)


def to_closure():
    """Make a forward that counts in its closure."""
    count = 0

    def forward(self, x):
        nonlocal count
        count += 1
        return x * count

    return forward


def to_function(self, x):
    """Count in an attribute of itself."""
    to_function.calls = getattr(to_function, "calls", 0) + 1
    return x


WRITES = {
    "global": (to_global, "the global `COUNT`"),
    "global-list": (to_global_list, "the global `SEEN`"),
    "class": (to_class, "the class attribute `Model.calls`"),
    "default": (to_default, "the default value of the argument `seen`"),
    "closure": (to_closure(), "`count`, a variable of the enclosing function"),
    "function": (to_function, "to_function"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_outlives_the_call_is_refused(name) -> None:
    """Refused with its line, and put back."""
    function, what = WRITES[name]
    message = refused(of(function), "write-outlives-call")
    assert what in message
    assert (COUNT, SEEN, FIRST) == (0, [], {})
    assert not hasattr(to_function, "calls")
    assert to_default.__defaults__ == ([],)


def test_a_write_to_an_argument_that_is_no_value_is_refused() -> None:
    """What the caller's list gets must be something that a program can make."""

    def forward(self, xs):
        xs.append(iter(xs))
        return xs[0]

    message = refused(of(forward), "write-outlives-call", [torch.ones(3)])
    assert "the argument `xs`" in message
    assert "xs.append(iter(xs))" in message


def test_temporaries_are_free() -> None:
    """What a call makes and uses up is nobody else's business."""

    def forward(self, x):
        parts, table, kinds = [], {}, set()
        for i in range(3):
            parts.append(x * i)
            table[i] = x
            kinds.add(i)
        parts[0] = table.pop(1)
        return sum(parts) + len(kinds)

    agrees(of(forward), 1, 5)


def test_set_and_restore_is_free() -> None:
    """A global that holds again what it held was not changed."""

    def forward(self, x):
        global COUNT  # noqa: PLW0603
        before, COUNT = COUNT, 5
        y = x * COUNT
        COUNT = before
        return y

    agrees(of(forward), 2, 6)


def test_side_effects_can_be_ignored_and_are_reported() -> None:
    """`side_effects="ignore"`: the program is made, the report names each write."""
    program = export(of(to_global_list), (torch.ones(4, 3),), side_effects="ignore")
    (effect,) = program.report.side_effects
    assert "SEEN" in str(effect)
    assert SEEN == []


def test_a_global_cache_that_every_call_would_fill_alike_is_no_harm() -> None:
    """Filled by the first call with a tensor that depends on nothing else."""

    def forward(self, x):
        if "scale" not in FIRST:
            FIRST["scale"] = torch.full((3,), 2.0)
        return x * FIRST["scale"]

    program = export(of(forward), (torch.ones(3),))
    assert FIRST == {}
    assert torch.equal(program.module()(torch.full((3,), 5.0)), torch.full((3,), 10.0))


def test_a_number_left_in_a_global_is_told_to_others() -> None:
    """Whoever looks there would miss it."""

    def forward(self, x):
        FIRST["rows"] = 3
        return x * 2

    assert "the global `FIRST` is changed here" in refused(of(forward), "write-outlives-call")
    assert FIRST == {}


# --- what is asked and cannot be answered ---


def helper(x):
    """Ask for a value."""
    if x.sum() > 0:
        return x
    return -x


def test_a_question_shows_the_chain_of_calls() -> None:
    """The caret is in the helper; the lines that called it are shown."""

    def forward(self, x):
        return helper(x) + 1

    message = refused(of(forward), "data-dependent-branch")
    assert "if x.sum() > 0:" in message
    assert "called from" in message.partition("if x.sum() > 0:")[2]


def test_user_code_cannot_swallow_a_refusal() -> None:
    """An `except` clause that would catch PyTorch's error does not hide ours."""

    def forward(self, x):
        try:
            if x.sum() > 0:
                return x
        except Exception:  # noqa: BLE001
            pass
        return -x

    with pytest.raises(DataDependentError):
        export(of(forward), (torch.ones(3),), control_flow="refuse")


def test_errors_of_user_code_keep_type_and_lines() -> None:
    """The traceback has the user's functions and lines, as without a capture."""

    def inner(x):
        return {}["missing"]

    def forward(self, x):
        return inner(x)

    with pytest.raises(KeyError) as caught:
        export(of(forward), (torch.ones(3),))
    assert caught.value.args == ("missing",)
    text = "".join(traceback.format_exception(caught.value))
    assert 'return {}["missing"]' in text
    assert "return inner(x)" in text


# --- what is reported ---

SCALE = 3.0


def test_reads_that_decide_the_graph_are_reported() -> None:
    """Plain values of globals, attributes, cells and classes, with their places."""
    factor = 2

    def forward(self, x):
        if self.double:
            x = x * factor
        return x * SCALE

    program = export(of(forward, double=True), (torch.ones(3),))
    found = {each.name: each.value for each in program.report.assumptions}
    assert found["self.double"] is True
    assert found["factor"] == 2
    assert found["SCALE"] == 3.0
    assumed = program.report.assumptions
    assert all(each.place.startswith("test_interpreting.py:") for each in assumed)


def test_variables_that_inner_functions_read_are_no_assumptions() -> None:
    """They belong to the call: a list of numbers that is filled with sizes, too."""

    def forward(self, x):
        lengths = [1, 2]
        lengths[0] = x.shape[0]
        return x * sum(lengths[i] for i in (0, 1))

    shapes = {"x": {0: Dim.AUTO}}
    program = export(of(forward), (torch.ones(3),), dynamic_shapes=shapes)
    assert not program.report.assumptions
    save(program, io.BytesIO())


def test_strict_and_plain_write_the_same_graph() -> None:
    """Interpreting changes nothing about the operators recorded."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    x = torch.randn(2, 5, 8)
    strict, plain = (export(layer, (x,), strict=mode) for mode in (True, False))
    assert str(strict.graph) == str(plain.graph)


def test_a_side_effect_error_is_an_error_of_the_mode() -> None:
    """Plain mode does not see globals; strict mode is the default."""
    with pytest.raises(SideEffectError):
        export(of(to_global), (torch.ones(3),))


@functools.lru_cache
def table(n):
    """Make a table once."""
    return torch.arange(n) * 2.0


def test_a_cached_function_keeps_nothing_of_a_capture() -> None:
    """What `lru_cache` would remember belongs to the run; the next eager call makes its own."""

    def forward(self, x):
        return x * table(3) + table(3)

    module = of(forward)
    program = export(module, (torch.ones(2, 3),))
    assert table.cache_info().currsize == 0
    x = torch.randn(2, 3)
    torch.testing.assert_close(program.module()(x), module(x))


class AsksOnlyWhatCodeAsks(torch.nn.Module):
    """Counts what an object is asked for, on a side, in rounds, and as a handler."""

    def forward(self, x):
        asked = []

        class Told:
            k = 1

            def __getattribute__(self, name):
                asked.append(name)
                return object.__getattribute__(self, name)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                """Leave it."""

            def __call__(self, given):
                return given

        told = Told()
        told.k = told.k + 1
        with told:
            held = [told, {"a": told}]
        if x.sum() > 0:
            told.z = 1
            x = x + 1
        else:
            told.z = 2
        held.append(told(told))
        return x * told.z + len(asked)


@pytest.mark.parametrize("sign", [1, -1])
def test_objects_are_asked_for_what_code_asks_alone(sign):
    """No bookkeeping asks them for their class."""
    model = AsksOnlyWhatCodeAsks()
    program = monograph.export(model, (sign * torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(program(x), model(x))
