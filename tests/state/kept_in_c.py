"""Objects from outside whose state C keeps, or that stand behind a road: one kind after the other.

Exceptions, objects of ctypes, mapped memory, attributes of one thread; what weak references,
context variables, cells and annotations lead to; what Python's and NumPy's own classes remember.
"""

# ruff: noqa: D103 - many small programs, named for what they do

from __future__ import annotations

import codecs
import contextvars
import ctypes
import decimal
import mmap
import threading
import types
import weakref
import xml.etree.ElementTree as ET

import numpy as np
import torch
from torch import nn

from tests.state.outside_objects import outside

given = None


# --- exceptions --------------------------------------------------------------------------------


def what_is_told(error):
    """All that an exception holds, comparably."""
    cause = error.__cause__
    notes = tuple(getattr(error, "__notes__", ()))
    return repr(error.args), repr(cause), notes, error.__traceback__ is None, vars(error).copy()


@outside(lambda: ValueError(1), tell=what_is_told)
def arguments_of_an_exception_set(x):
    given.args = (given.args[0] + 1,)
    return x * given.args[0]


@outside(lambda: ValueError(1), tell=what_is_told)
def arguments_of_an_exception_set_by_name(x):
    setattr(given, "args", (len(given.args) + 1, *given.args))  # noqa: B010
    return x * len(given.args)


@outside(lambda: ValueError(1), tell=what_is_told)
def exception_made_again(x):
    given.__init__(given.args[0] + 1, 5)
    return x * given.args[0]


@outside(lambda: ValueError(1), tell=what_is_told)
def note_added(x):
    given.add_note("here")
    return x * len(given.__notes__)


@outside(lambda: ValueError(1), tell=what_is_told)
def cause_set(x):
    y = x * 2 if given.__cause__ is None else x * 3
    given.__cause__ = KeyError("a")
    return y


@outside(lambda: ValueError(1), tell=what_is_told)
def global_exception_raised(x):
    y = x * 2 if given.__traceback__ is None else x * 3
    try:
        raise given
    except ValueError:
        return y


@outside(lambda: ValueError(1), tell=what_is_told)
def exception_caught_with_a_cause(x):
    y = x * 2 if given.__cause__ is None else x * 3
    try:
        raise given from KeyError("a")
    except ValueError:
        return y


@outside(lambda: ValueError(1).with_traceback(None), tell=what_is_told)
def traceback_given_to_an_exception(x):
    y = x * 2 if given.__traceback__ is None else x * 3
    try:
        raise KeyError
    except KeyError as error:
        given.with_traceback(error.__traceback__)
    return y


@outside(lambda: OSError(1, "a"), tell=lambda e: (e.errno, e.strerror))
def errno_counted(x):
    given.errno += 1
    return x * given.errno


@outside(lambda: ValueError(1), tell=what_is_told)
def attributes_of_an_exception_restored(x):
    given.__setstate__({"n": getattr(given, "n", 0) + 1})
    return x * given.n


@outside(lambda: [StopIteration(1)], tell=lambda e: e[0].value)
def value_of_an_exception_in_a_list(x):
    given[0].value += 1
    return x * given[0].value


# --- ctypes ------------------------------------------------------------------------------------


class Point(ctypes.Structure):
    """Two numbers side by side."""

    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


class Linked(ctypes.Structure):
    """A number, and a pointer to another."""

    _fields_ = [("n", ctypes.c_int), ("at", ctypes.POINTER(ctypes.c_int))]


def what_it_points_to(pointer):
    """The number behind a pointer."""
    return pointer.contents.value


@outside(lambda: ctypes.pointer(ctypes.c_int(1)), tell=what_it_points_to)
def pointer_written_through(x):
    given.contents.value += 1
    return x * given.contents.value


@outside(lambda: ctypes.pointer(ctypes.c_int(1)), tell=what_it_points_to)
def pointer_written_by_index(x):
    given[0] += 1
    return x * given[0]


@outside(lambda: ctypes.pointer(ctypes.c_int(1)), tell=what_it_points_to)
def pointer_led_elsewhere(x):
    given.contents = ctypes.c_int(given.contents.value + 1)
    return x * given.contents.value


@outside(lambda: Linked(1, ctypes.pointer(ctypes.c_int(1))), tell=lambda s: s.at.contents.value)
def pointer_in_a_structure(x):
    given.at[0] += 1
    return x * given.at.contents.value


@outside(lambda: ctypes.c_int(1), tell=lambda n: n.value)
def pointer_cast(x):
    ctypes.cast(ctypes.pointer(given), ctypes.POINTER(ctypes.c_int))[0] += 1
    return x * given.value


@outside(lambda: ctypes.c_int(1), tell=lambda n: n.value)
def number_at_an_address(x):
    ctypes.c_int.from_address(ctypes.addressof(given)).value += 1
    return x * given.value


@outside(lambda: ctypes.c_int(1), tell=lambda n: n.value)
def memory_set(x):
    n = given.value
    ctypes.memset(ctypes.byref(given), n + 1, 1)
    return x * n


@outside(lambda: ctypes.c_int(1), tell=lambda n: n.value)
def memory_moved(x):
    ctypes.memmove(ctypes.byref(given), bytes([given.value + 1]), 1)
    return x * given.value


@outside(lambda: ctypes.c_int(1), tell=lambda n: n.value)
def string_read_at_an_address(x):
    (n,) = ctypes.string_at(ctypes.addressof(given), 1)
    given.value = n + 1
    return x * n


NUMBER = ctypes.c_int(1)


def address():
    """Where a number lies that begins."""
    NUMBER.value = 1
    return ctypes.addressof(NUMBER)


@outside(address, tell=lambda _: NUMBER.value)
def number_known_by_its_address_alone(x):
    number = ctypes.c_int.from_address(given)
    number.value += 1
    return x * number.value


@outside(address, tell=lambda _: NUMBER.value)
def address_cast(x):
    number = ctypes.cast(given, ctypes.POINTER(ctypes.c_int))
    number[0] += 1
    return x * number[0]


@outside(address, tell=lambda _: NUMBER.value)
def memory_set_at_an_address(x):
    ctypes.memset(given, 5, 1)
    return x * 2


@outside(lambda: ctypes.CDLL(None), tell=lambda _: None)
def number_drawn_by_a_library(x):
    return x * (given.rand() % 1000)


LIBRARY = ctypes.CDLL(None)


@outside(lambda: LIBRARY.rand)
def number_drawn_by_a_foreign_function(x):
    return x * (given() % 1000)


@outside(lambda: (LIBRARY.abs, LIBRARY.rand))
def number_drawn_by_a_foreign_function_in_a_tuple(x):
    _, draw = given
    return x * (draw() % 1000)


@outside(lambda: LIBRARY)
def number_drawn_by_a_foreign_function_by_name(x):
    return x * (given["rand"]() % 1000)


@outside(lambda: bytearray(4), tell=bytes)
def number_from_a_buffer(x):
    number = ctypes.c_int.from_buffer(given)
    number.value += 1
    return x * number.value


@outside(lambda: (Point * 2)(), tell=lambda points: [p.x for p in points])
def structure_in_an_array(x):
    given[0].x += 1
    return x * given[0].x


@outside(Point, tell=lambda p: (p.x, p.y))
def structure_given_to_setattr(x):
    setattr(given, "y", given.y + 1)  # noqa: B010
    return x * given.y


@outside(lambda: ctypes.create_string_buffer(b"a", 8), tell=lambda b: b.value)
def text_in_a_buffer(x):
    given.value += b"a"
    return x * len(given.value)


# --- mapped memory, memory views, one thread -----------------------------------------------------


@outside(lambda: mmap.mmap(-1, 8), tell=mmap.mmap.tell)
def mapped_memory_read_on(x):
    given.read(1)
    return x * given.tell()


@outside(lambda: mmap.mmap(-1, 8), tell=lambda m: (m.tell(), m[:]))
def mapped_memory_written_on(x):
    given.write_byte(given.tell() + 1)
    return x * given.tell()


@outside(lambda: mmap.mmap(-1, 8), tell=mmap.mmap.tell)
def mapped_memory_sought(x):
    given.seek(given.tell() + 1)
    return x * given.tell()


def released(view):
    """Whether a memoryview was let go."""
    try:
        return view.nbytes
    except ValueError:
        return "released"


@outside(lambda: memoryview(bytearray(3)), tell=released)
def view_released(x):
    given.release()
    return x * 2


def local_of_one():
    """Attributes of this thread."""
    local = threading.local()
    local.n = 0
    return local


@outside(local_of_one, tell=lambda local: local.n)
def attribute_of_the_thread(x):
    given.n += 1
    return x * given.n


@outside(local_of_one, tell=lambda local: vars(local).copy())
def attribute_of_the_thread_by_its_dict(x):
    vars(given)["n"] += 1
    return x * given.n


class LocalOfAClass(threading.local):
    """Attributes of each thread."""

    def __init__(self):
        """Begin."""
        self.n = 0


@outside(LocalOfAClass, tell=lambda local: local.n)
def attribute_of_the_thread_of_a_class(x):
    given.n += 1
    return x * given.n


# --- roads ---------------------------------------------------------------------------------------


class Counter:
    """Counts."""

    def __init__(self):
        """Begin."""
        self.n = 0


KEPT = [Counter()]


def weak():
    """Refer weakly to a counter that begins."""
    KEPT[0].n = 0
    return weakref.ref(KEPT[0])


@outside(weak, tell=lambda _: KEPT[0].n)
def counter_behind_a_weak_reference(x):
    given().n += 1
    return x * given().n


@outside(lambda: weakref.proxy(weak()()), tell=lambda _: KEPT[0].n)
def counter_behind_a_weak_proxy(x):
    given.n += 1
    return x * given.n


def variable():
    """Make a variable that holds a list."""
    made = contextvars.ContextVar("made")
    made.set([1])
    return made


@outside(variable, tell=lambda v: v.get().copy())
def list_in_a_context_variable(x):
    given.get().append(1)
    return x * len(given.get())


@outside(variable, tell=lambda v: v.get().copy())
def context_variable_set(x):
    given.set([*given.get(), 1])
    return x * len(given.get())


def function_with_a_cell():
    """Make a function that knows a number."""
    n, held = 1, [1]

    def function():
        return n, held

    return function


def in_cells(function):
    """What the cells of a function hold."""
    return [repr(cell.cell_contents) for cell in function.__closure__]


@outside(function_with_a_cell, tell=in_cells)
def cell_written(x):
    cell = given.__closure__[1]
    cell.cell_contents += 1
    return x * cell.cell_contents


@outside(function_with_a_cell, tell=in_cells)
def list_in_a_cell(x):
    held = given.__closure__[0].cell_contents
    held.append(1)
    return x * len(held)


@outside(function_with_a_cell, tell=lambda f: f.__annotations__.copy())
def annotations_written(x):
    notes = given.__annotations__
    notes["n"] = notes.get("n", 0) + 1
    return x * notes["n"]


@outside(function_with_a_cell, tell=lambda f: (f.__defaults__, f.__name__))
def defaults_replaced(x):
    given.__defaults__ = (*(given.__defaults__ or ()), 1)
    return x * len(given.__defaults__)


@outside(lambda: property(), tell=lambda p: p.__doc__)
def text_of_a_property(x):
    given.__doc__ = (given.__doc__ or "") + "a"
    return x * len(given.__doc__)


# --- classes of Python's and NumPy's own ---------------------------------------------------------


@outside(codecs.getincrementaldecoder("utf-8"), tell=lambda d: d.getstate())
def bytes_left_in_a_decoder(x):
    return x * (len(given.decode(b"\xe2\x82")) + len(given.getstate()[0]) + 1)


@outside(codecs.getincrementaldecoder("utf-8"), tell=lambda d: d.buffer)
def bytes_added_to_a_decoder(x):
    given.buffer += b"a"
    return x * len(given.buffer)


@outside(lambda: np.poly1d([1.0, 2.0]), tell=lambda p: p.coeffs.tolist())
def polynomial_written(x):
    given[0] += 1
    return x * given[0]


@outside(lambda: np.polynomial.Polynomial([1.0]), tell=lambda p: p.coef.tolist())
def coefficients_written(x):
    given.coef = given.coef + 1
    return x * given.coef[0]


@outside(lambda: np.ma.masked_array([1.0], [False]), tell=lambda a: a.fill_value)
def fill_value_of_an_array(x):
    given.fill_value = given.fill_value + 1
    return x * float(given.fill_value)


@outside(lambda: np.vectorize(len), tell=lambda v: v.pyfunc.__name__)
def function_of_a_vectorisation(x):
    given.pyfunc = sum if given.pyfunc is len else len
    return x * (2 if given.pyfunc is len else 3)


@outside(lambda: torch.distributions.Normal(1.0, 1.0), tell=lambda d: float(d.loc))
def mean_of_a_distribution(x):
    given.loc = given.loc + 1
    return x * given.loc


@outside(lambda: memoryview(bytearray(3)), tell=bytes, allowed=True)
def view_made_and_released(x):
    view = given[1:]
    n = len(view)
    view.release()
    with given[2:] as rest:
        return x * n + len(rest)


@outside(lambda: torch.ones(3), tell=lambda t: type(t).__name__)
def class_of_a_tensor_set(x):
    y = x * 2 if type(given) is torch.Tensor else x * 3
    given.__class__ = nn.Parameter
    return y


@outside(lambda: [torch.ones(3), torch.zeros(3)], tell=lambda two: two[0].tolist())
def tensors_swapped(x):
    torch.utils.swap_tensors(*given)
    return x * given[0]


@outside(lambda: decimal.Context(prec=5), tell=lambda c: c.flags[decimal.Inexact])
def flag_raised_by_a_division(x):
    y = x * 2 if given.flags[decimal.Inexact] else x * 3
    given.divide(1, 3)
    return y


@outside(lambda: ET.Element("a"), tell=lambda e: (len(e), dict(e.attrib), e.text))
def child_of_an_element(x):
    given.append(ET.Element("b"))
    given.set("k", str(len(given)))
    return x * len(given)


def optimizer():
    """One over a parameter."""
    return torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)


def rates(optimizer):
    """The steps of an optimizer."""
    return [group["lr"] for group in optimizer.param_groups]


@outside(optimizer, tell=rates)
def rate_of_an_optimizer(x):
    given.param_groups[0]["lr"] *= 2
    return x * given.param_groups[0]["lr"]


@outside(optimizer, tell=lambda o: len(o.state))
def state_of_an_optimizer(x):
    given.state[len(given.state)] = {"step": 1}
    return x * len(given.state)


@outside(lambda: types.SimpleNamespace(o=optimizer()), tell=lambda n: rates(n.o))
def optimizer_in_a_namespace(x):
    given.o.param_groups[0].update(lr=given.o.param_groups[0]["lr"] + 1)
    return x * given.o.param_groups[0]["lr"]


@outside(
    lambda: torch.optim.lr_scheduler.LambdaLR(optimizer(), lambda n: n + 1),
    tell=lambda s: s.last_epoch,
)
def epoch_of_a_schedule(x):
    given.last_epoch += 1
    return x * given.last_epoch
