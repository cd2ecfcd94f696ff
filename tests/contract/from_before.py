"""Row `write`: objects from before the call that code comes to by roads without a name.

Default values stand in functions; modules stand in `sys.modules`; and what a call makes ends when
nothing refers to it any longer.
"""

import contextlib
import heapq
import os
import sys
import weakref
from types import SimpleNamespace

import torch
from torch import nn

from tests.contract.registry import Call, probe
from tests.contract.tensor_types import m

THRICE = {"thrice": Call(lambda: (m(),), times=3)}
LOST = ("write-outlives-call", "mutated-constant")
COUNT = 0
OTHER = 0


def written(what):
    """Each call writes, and the next reads."""
    return probe("write", lambda: (m(),), calls=THRICE, refused=LOST)(what)


def pushed(x, heap=[1]):  # noqa: B006 - what is asked
    """C writes to a default value."""
    heapq.heappush(heap, 2)
    return x * len(heap)


def pushed_by_name(x, *, heaps={"a": [1]}):  # noqa: B006 - what is asked
    """Deep inside of the default value of a keyword."""
    heapq.heappush(heaps["a"], 2)
    return x * len(heaps["a"])


def counted_on_a_tensor(x, mark=torch.ones(4)):  # noqa: B008 - what is asked
    """An attribute of a default value, of a kind that is a constant."""
    mark.n = getattr(mark, "n", 0) + 1
    return x * mark.n


def leaf_of_a_tensor(x, mark=torch.ones(4)):  # noqa: B008 - what is asked
    """Whether gradients are followed from there."""
    return (x * mark).detach() * (2 if mark.requires_grad_().grad is None else 3)


@written
class HeapByDefault(nn.Module):
    """A method's own default."""

    def forward(self, x, heap=[1]):  # noqa: B006 - what is asked
        heapq.heappush(heap, 2)
        return x * len(heap)


@written
def heap_by_default(x):
    """A function's that forward calls."""
    return pushed(x)


@written
def heap_by_default_of_a_keyword(x):
    """The same, by name."""
    return pushed_by_name(x)


@written
def attribute_of_a_default_tensor(x):
    """Python's attributes."""
    return counted_on_a_tensor(x)


@written
def leaf_by_default(x):
    """Its flag."""
    return leaf_of_a_tensor(x)


@written
def global_by_its_module(x):
    """A global, written as an attribute of the module that it is in."""
    sys.modules[__name__].COUNT = COUNT + 1
    return x * COUNT


@written
def global_by_setattr(x):
    """The same, by a function."""
    setattr(sys.modules[__name__], "OTHER", OTHER + 1)  # noqa: B010 - what is asked
    return x * OTHER


def replaced_function(x):
    """What code replaces."""
    return x * 2


def other_function(x):
    """By this one."""
    return x * 3


@written
def code_of_a_function(x):
    """A function from before gets other instructions."""
    y = replaced_function(x)
    replaced_function.__code__ = other_function.__code__
    return y


@probe("mode", lambda: (m(),), refused=("outside-read", "write-outlives-call"))
def directory_changed(x):
    """The whole process stands elsewhere from then on."""
    os.chdir(".")
    return x * 2


@probe("write", lambda: (m(),), calls={"again": lambda: (m(),)})
def defaults_made_in_the_call(x):
    """Default values that every call makes anew are its own."""

    def push(y, heap=[1], *, names={}, of=torch.ones(4)):  # noqa: B006, B008 - what is asked
        heapq.heappush(heap, 2)
        names["n"] = len(heap)
        of.add_(1)
        return y * names["n"] + of

    return push(x) + push(x)


def _wrapping(*args):
    return args[0] * len(args)


_wrapping.__defaults__ = (1, 2)


@probe("write", lambda: (m(),), calls={"again": lambda: (m(),)})
def more_defaults_than_parameters(x):
    """A wrapper has the default values of what it wraps."""
    return _wrapping(x, x)


# --- caches that the next call finds filled -----------------------------------------------------

KEPT = None
TABLE: dict = {}
MARK = torch.ones(4)


@written
def global_found_filled(x):
    """What the first call puts there, the next one only asks for."""
    global KEPT  # noqa: PLW0603 - what is asked
    y = x * (2 if KEPT is None else 3)
    KEPT = torch.ones(4)
    return y


@written
def table_found_filled(x):
    """Counted, and not read."""
    y = x * (2 + len(TABLE))
    TABLE.setdefault("a", torch.ones(4))
    return y


@written
def gradient_found_filled(x):
    """What autograd keeps beside a tensor."""
    y = x * (2 if MARK.grad is None else 3)
    MARK.grad = torch.ones(4)
    return y


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class AttributeFoundFilled(nn.Module):
    """The same of a module's attribute."""

    kept = None

    def forward(self, x):
        y = x * (2 if self.kept is None else 3)
        self.kept = torch.ones(4)
        return y


class _Caches(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache, self.held = {}, SimpleNamespace(kept=None)


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class DictFoundFilled(_Caches):
    """The first call uses nothing of what it keeps."""

    def forward(self, x):
        if "kept" not in self.cache:
            self.cache["kept"] = torch.ones(4) * 2
            return x
        return x * self.cache["kept"]


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class DictFoundFilledByAnError(_Caches):
    """It is asked by an exception."""

    def forward(self, x):
        try:
            return x * self.cache["kept"]
        except KeyError:
            self.cache["kept"] = torch.ones(4)
            return x


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class ObjectFoundFilled(_Caches):
    """An attribute of what the module holds."""

    def forward(self, x):
        if self.held.kept is None:
            self.held.kept = torch.ones(4)
            return x
        return x * self.held.kept


class _Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", None)


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class BufferFoundFilled(_Kept):
    """The same of a buffer that was registered as None."""

    def forward(self, x):
        y = x * (2 if self.kept is None else 3)
        self.kept = torch.ones(4)
        return y


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class BuffersCounted(_Kept):
    """The next call has one more."""

    def forward(self, x):
        y = x * (2 + len([*self.buffers()]))
        self.kept = torch.ones(4)
        return y


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class BufferOfTheCallBefore(_Kept):
    """What the next call reads is what this one was given."""

    def forward(self, x):
        y = x if self.kept is None else x + self.kept
        self.kept = x * 2
        return y


@probe("write", lambda: (m(),), agrees=THRICE)
class BufferCacheUsed(_Kept):
    """A buffer that every call uses, and only the first fills."""

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.arange(4.0)
        return x * self.kept


@probe("write", lambda: (m(),), agrees=THRICE)
class CacheUsed(nn.Module):
    """A cache that every call uses is none of the caller's business."""

    kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.arange(4.0)
        return x * self.kept


# --- ends of objects ----------------------------------------------------------------------------

ENDED: list = []
NONE_LEFT = ("outside-read",)


def ending(what):
    """Each call lets go of an object that it made."""
    return probe("write", lambda: (m(),), calls=THRICE, refused=NONE_LEFT)(what)


class Thing:
    """Something to refer to."""

    def __init__(self, told=None):
        self.told = told


class Told(Thing):
    """It tells of its end."""

    def __del__(self):
        self.told.append(len(ENDED))


@ending
def asked_whether_it_is_there(x):
    """A weak reference is empty once nothing else refers to its object."""
    thing = Thing()
    there = weakref.ref(thing)
    del thing
    return x * (2 if there() is None else 3)


@ending
def asked_of_what_a_function_made(x):
    """Its variables end with it."""

    def made():
        thing = nn.Linear(2, 2)
        return weakref.WeakMethod(thing.forward)

    return x * (2 if made()() is None else 3)


@ending
def counted_in_a_weak_set(x):
    """So does what a table of weak references holds."""
    things, thing = weakref.WeakSet(), Thing()
    things.add(thing)
    thing = None
    return x * (2 + len(things))


@ending
def called_back(x):
    """What is called then comes before what follows."""
    told, thing = [], Thing()
    there = weakref.ref(thing, told.append)
    thing = there is None
    return x * (2 + len(told) + thing)


@ending
def finalized(x):
    """The same of a method."""
    told = []
    thing = Told(told)
    del thing
    return x * (2 + len(told))


@ending
def finalized_outside(x):
    """What it writes to is from outside, and no code of forward names it."""
    Told(ENDED)
    return x * 2


@ending
def finalized_without_a_beginning(x):
    """A class with no code that begins its objects."""
    told = []

    class Ends:
        def __del__(self):
            told.append(1)

    y = x * 2
    with contextlib.suppress(ValueError):
        ends = [Ends() for _ in range(3)]
        ends.pop()
    return y * (1 + len(told))


@ending
class RefersToItself(nn.Module):
    """What was there before is there in every call: interpreted code says so."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.ones(4))

    def forward(self, x):
        there = weakref.ref(self)
        return x * there().kept


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class CacheUsedOtherwise(nn.Module):
    """A cache that every call uses, and not in the same way."""

    kept = None

    def forward(self, x):
        factor = 2 if self.kept is None else 3
        if self.kept is None:
            self.kept = torch.arange(4.0) * 2
        return x * factor + self.kept


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class BufferUsedOtherwise(nn.Module):
    """The same in a buffer's place, made of a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(4.0))
        self.register_buffer("kept", None)

    def forward(self, x):
        is_first = self.kept is None
        if is_first:
            self.kept = (self.weight * MARK).detach()
        y = x + self.kept
        return y if is_first else y * 2


@probe("write", lambda: (m(),), agrees=THRICE)
class AnglesKept(nn.Module):
    """Tables that are made of a buffer once, and sliced and cast in every call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rates", 10.0 ** -torch.arange(4.0))
        self.longest, self.sine = 0, None

    def forward(self, x):
        if self.sine is None or x.shape[0] > self.longest:
            self.longest = 16
            sine = torch.outer(torch.arange(16.0), self.rates).sin()
            self.sine = sine.to(x.dtype)
        return x * self.sine[: x.shape[0]].to(x.dtype) + self.sine[0]


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class CacheUsedFromThenOn(nn.Module):
    """What the first call keeps, only the next ones use."""

    kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.arange(4.0)
            return x * 2
        return x * self.kept
