"""Row `write`: objects from before the call that code comes to by roads without a name.

Default values stand in functions; modules stand in `sys.modules`; and what a call makes ends when
nothing refers to it any longer.
"""

import heapq
import os
import sys

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


@probe("write", lambda: (m(),), agrees=THRICE)
class CacheUsed(nn.Module):
    """A cache that every call uses is none of the caller's business."""

    kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.arange(4.0)
        return x * self.kept
