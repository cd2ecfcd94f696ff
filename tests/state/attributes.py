"""State on the module: attributes, containers, caches, hooks, buffers, parameters."""

import functools
import random
import types
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrizations

from tests.state.registry import state

KEPT = "attribute-changed"
OUTLIVES = "write-outlives-call"


@state(KEPT)
class CountsCalls(nn.Module):
    """A number counts."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@state(KEPT)
class CountsInASlot(nn.Module):
    """A number counts that is not in the module's `__dict__`."""

    __slots__ = ("calls",)

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@state(KEPT)
class FillsAListInASlot(nn.Module):
    """A list grows that is not in the module's `__dict__`."""

    __slots__ = ("seen",)

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(1)
        return x * len(self.seen)


@state()
class WritesASlotFirst(nn.Module):
    """Every call writes a slot before it reads it."""

    __slots__ = ("last",)

    def forward(self, x):
        self.last = x * 2
        return self.last + 1


@state(KEPT)
class DeletesAnAttribute(nn.Module):
    """The second call fails: what it deletes is gone."""

    def __init__(self):
        super().__init__()
        self.first = True

    def forward(self, x):
        del self.first
        return x * 2


@state()
class LooksUpAttributesItself(nn.Module):
    """What its lookup in Python does not find, PyTorch's `__getattr__` does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.factor = 2

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return found * 4 if name == "factor" else found

    def forward(self, x):
        return self.layer(x) * self.factor


@state()
class CountsInABuffer(nn.Module):
    """A buffer counts, in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@state("buffer-reshaped")
class ReplacesAnExpandedBuffer(nn.Module):
    """Nobody can write to its memory, where all elements are one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1).expand(3))

    def forward(self, x):
        self.calls = self.calls + 1
        return x * self.calls


@state()
class CountsByReplacing(nn.Module):
    """A buffer counts, replaced each time."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls = self.calls + 1
        return x * self.calls


@state()
class RunningMean(nn.Module):
    """A mean over all calls, in a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    @torch.no_grad()
    def forward(self, x):
        self.mean.mul_(0.9).add_(x, alpha=0.1)
        return x - self.mean


@state()
class MovingAverage(nn.Module):
    """As above, replaced under no_grad."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        with torch.no_grad():
            self.mean = torch.lerp(self.mean, x, 0.1)
        return x - self.mean


@state()
class Normalises(nn.Module):
    """Batch norm with a cumulative mean, in training."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1)

    def forward(self, x):
        return self.norm(x[:, None])


@state("specialized-value")
class CumulativeMean(nn.Module):
    """Batch norm without momentum divides by the number of calls, as a plain number."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1, momentum=None)

    def forward(self, x):
        return self.norm(x[:, None])


@state()
class SpectralNorm(nn.Module):
    """Power iteration goes on with each call."""

    def __init__(self):
        super().__init__()
        self.layer = parametrizations.spectral_norm(nn.Linear(3, 3))

    def forward(self, x):
        return self.layer(x)


@state()
class RecurrentState(nn.Module):
    """A hidden state goes from call to call."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(6, 3)
        self.register_buffer("hidden", torch.zeros(3))

    def forward(self, x):
        new = torch.tanh(self.cell(torch.cat([x, self.hidden])))
        self.hidden = new.detach()
        return new * 2


@state()
class RingOfInputs(nn.Module):
    """The last two inputs, in a buffer that rolls."""

    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(2, 3))

    def forward(self, x):
        self.ring.copy_(self.ring.roll(1, 0))
        self.ring[0] = x
        return self.ring.sum(0)


@state("data-dependent-branch", "data-dependent-size")
class AsksItsCounter(nn.Module):
    """A branch on a buffer that counts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return x * 2 if self.calls > 1 else x


@state(KEPT)
class ListGrows(nn.Module):
    """A list on the module grows."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x.shape[0])
        return x * len(self.seen)


@state(KEPT)
class DictGrows(nn.Module):
    """A dict of dicts on the module grows."""

    def __init__(self):
        super().__init__()
        self.seen = {"a": {"b": [0]}}

    def forward(self, x):
        self.seen["a"]["b"].append(1)
        return x * sum(self.seen["a"]["b"])


@state(KEPT)
class SetGrows(nn.Module):
    """A set on the module grows."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def forward(self, x):
        self.seen.add(len(self.seen))
        return x * len(self.seen)


@state(KEPT)
class DequeTurns(nn.Module):
    """A deque on the module turns."""

    def __init__(self):
        super().__init__()
        self.turns = deque([1.0, 2.0, 3.0])

    def forward(self, x):
        self.turns.rotate(1)
        return x * self.turns[0]


@state(KEPT)
class DefaultsAppear(nn.Module):
    """Reading a defaultdict writes to it."""

    def __init__(self):
        super().__init__()
        self.counts = defaultdict(int)

    def forward(self, x):
        self.counts["x"] += 1
        return x * self.counts["x"]


@state(KEPT)
class OrderChanges(nn.Module):
    """The order of an OrderedDict changes."""

    def __init__(self):
        super().__init__()
        self.order = OrderedDict(a=1.0, b=2.0, c=3.0)

    def forward(self, x):
        self.order.move_to_end(next(iter(self.order)))
        return x * next(iter(self.order.values()))


@state()
class WrittenBeforeRead(nn.Module):
    """Each call writes before it reads: nothing is carried over."""

    def forward(self, x):
        self.hidden = x * 2
        self.shape = x.shape
        return self.hidden.view(self.shape)


@state(KEPT)
class RememberedResult(nn.Module):
    """The next call reads what this one computed."""

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        y = x if self.last is None else x + self.last
        self.last = y
        return y


@state(KEPT, "data-dependent-branch")
class FirstCallDiffers(nn.Module):
    """The first call does something else."""

    def __init__(self):
        super().__init__()
        self.first = True

    def forward(self, x):
        if self.first:
            self.first = False
            return x * 100
        return x


@state(KEPT, "data-dependent-branch")
class InitializedByData(nn.Module):
    """The first call scales by what it is given, as ActNorm does."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(3))
        self.initialized = False

    def forward(self, x):
        if not self.initialized:
            self.scale.copy_(x.abs() + 1)
            self.initialized = True
        return x / self.scale


@state(KEPT, "data-dependent-branch")
class RescaledOnce(nn.Module):
    """The first call in a mode changes weights, without gradients."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))
        self.is_rescaled = False

    def forward(self, x):
        if self.training != self.is_rescaled:
            with torch.no_grad():
                self.weight.div_(2)
            self.is_rescaled = self.training
        return x * self.weight


@state(KEPT, "data-dependent-branch")
class SwitchedOnByData(nn.Module):
    """Data set a flag, which nobody resets."""

    def __init__(self):
        super().__init__()
        self.seen = False

    def forward(self, x):
        y = x * 2 if self.seen else x + 0
        if x.sum() > 0:
            self.seen = True
        return y


@state(KEPT)
class FlagBecomesNone(nn.Module):
    """A flag that is no truth any more after the first call."""

    def __init__(self):
        super().__init__()
        self.first = True

    def forward(self, x):
        x = x * 100 if self.first else x
        self.first = None
        return x


@state()
class CachedConstant(nn.Module):
    """A table made by the first call, of nothing that varies."""

    def forward(self, x):
        if not hasattr(self, "table"):
            self.table = torch.arange(3.0)
        return x + self.table


@state()
class CachedOfWeights(nn.Module):
    """A table made by the first call, of a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))
        self.table = None

    def forward(self, x):
        if self.table is None:
            self.table = self.weight.detach().exp()
        return x + self.table


@state(KEPT)
class CachedOfInput(nn.Module):
    """A table made by the first call, of its input."""

    def forward(self, x):
        if not hasattr(self, "table"):
            self.table = x.clone()
        return x + self.table


@state()
class CachedProperty(nn.Module):
    """A property that is computed once, of a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    @functools.cached_property
    def twice(self):
        """Work it out once."""
        return self.weight.detach() * 2

    def forward(self, x):
        return x + self.twice


@state(KEPT)
class CachedNumberOfInput(nn.Module):
    """A number is learnt from the first call's size, and counts."""

    def __init__(self):
        super().__init__()
        self.sizes = {}

    def forward(self, x):
        self.sizes[x.shape[0]] = self.sizes.get(x.shape[0], 0) + 1
        return x * self.sizes[x.shape[0]]


class Meter:
    """An object of the user's with a number in it."""

    def __init__(self):
        self.n = 0

    def step(self):
        """Count, and tell."""
        self.n += 1
        return self.n


@dataclass
class Options:
    """Options of a model."""

    scale: float = 1.0


@state(KEPT)
class ObjectCounts(nn.Module):
    """An object on the module counts."""

    def __init__(self):
        super().__init__()
        self.meter = Meter()

    def forward(self, x):
        return x * self.meter.step()


@state(KEPT)
class OptionsChange(nn.Module):
    """A dataclass on the module changes."""

    def __init__(self):
        super().__init__()
        self.options = Options()

    def forward(self, x):
        self.options.scale *= 2
        return x * self.options.scale


@state(KEPT)
class NamespaceChanges(nn.Module):
    """A namespace on the module changes."""

    def __init__(self):
        super().__init__()
        self.options = types.SimpleNamespace(n=1)

    def forward(self, x):
        self.options.n += 1
        return x * self.options.n


@state(KEPT)
class SubmoduleCounts(nn.Module):
    """An attribute of a submodule counts."""

    def __init__(self):
        super().__init__()
        self.part = nn.Identity()
        self.part.calls = 0

    def forward(self, x):
        self.part.calls += 1
        return self.part(x) * self.part.calls


@state(KEPT, "data-dependent-branch")
class Toggles(nn.Module):
    """A flag changes sides with each call."""

    def __init__(self):
        super().__init__()
        self.flag = False

    def forward(self, x):
        self.flag = not self.flag
        return x * (2 if self.flag else 3)


@state(KEPT)
class WrittenThroughDict(nn.Module):
    """An attribute is written through `__dict__`."""

    def __init__(self):
        super().__init__()
        self.n = 1

    def forward(self, x):
        self.__dict__["n"] += 1
        return x * vars(self)["n"]


@state(KEPT)
class PropertyCounts(nn.Module):
    """Reading a property counts."""

    def __init__(self):
        super().__init__()
        self._n = 0

    @property
    def n(self):
        """Count."""
        self._n += 1
        return self._n

    def forward(self, x):
        return x * self.n


@state(KEPT, OUTLIVES)
class IteratorAdvances(nn.Module):
    """An iterator on the module advances."""

    def __init__(self):
        super().__init__()
        self.numbers = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])

    def forward(self, x):
        return x * next(self.numbers)


@state(KEPT, OUTLIVES)
class RangeAdvances(nn.Module):
    """An iterator of a range on the module advances."""

    def __init__(self):
        super().__init__()
        self.numbers = iter(range(1, 60))

    def forward(self, x):
        return x * next(self.numbers)


@state(KEPT, OUTLIVES)
class GeneratorAdvances(nn.Module):
    """A generator on the module advances."""

    def __init__(self):
        super().__init__()
        self.numbers = (float(n) for n in range(1, 10))

    def forward(self, x):
        return x * next(self.numbers)


@state("mode-left-changed", KEPT)
class LeavesItself(nn.Module):
    """The module ends the call in another mode."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.drop(x)
        self.eval()
        return y


@state()
class SetsAndRestores(nn.Module):
    """An attribute is set and put back."""

    def __init__(self):
        super().__init__()
        self.scale = 1.0

    def forward(self, x):
        before = self.scale
        try:
            self.scale = 3.0
            return x * self.scale
        finally:
            self.scale = before


@state()
class GrowsAndShrinks(nn.Module):
    """A stack on the module is as before after the call."""

    def __init__(self):
        super().__init__()
        self.stack = [1]

    def forward(self, x):
        self.stack.append(5)
        y = x * self.stack[-1]
        self.stack.pop()
        return y * self.stack[-1]


@state(KEPT)
class HooksGrow(nn.Module):
    """Each call installs another hook."""

    def __init__(self):
        super().__init__()
        self.part = nn.Identity()

    def forward(self, x):
        self.part.register_forward_hook(lambda module, args, result: result * 2)
        return self.part(x)


@state(KEPT)
class HookCounts(nn.Module):
    """A hook counts on the module."""

    def __init__(self):
        super().__init__()
        self.part = nn.Identity()
        self.calls = 0

        def hook(module, args, result):
            self.calls += 1
            return result * self.calls

        self.part.register_forward_hook(hook)

    def forward(self, x):
        return self.part(x)


@state(KEPT)
class HookRemovesItself(nn.Module):
    """A hook that works once."""

    def __init__(self):
        super().__init__()
        self.part = nn.Identity()

        def hook(module, args, result):
            handle.remove()
            return result * 7

        handle = self.part.register_forward_hook(hook)

    def forward(self, x):
        return self.part(x)


@state()
class ParameterScaled(nn.Module):
    """A parameter is written in place without gradients."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        with torch.no_grad():
            self.weight.mul_(0.5)
        return (x * self.weight).detach()


@state(KEPT)
class ParameterReplaced(nn.Module):
    """A parameter is replaced by a new one."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.weight = nn.Parameter(self.weight.detach() * 2)
        return (x * self.weight).detach()


@state(KEPT)
class TensorAttributeReplaced(nn.Module):
    """A tensor that is no buffer is replaced."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(3)

    def forward(self, x):
        self.total = self.total + x
        return self.total * 2


@state("mutated-constant")
class TensorAttributeWritten(nn.Module):
    """A tensor that is no buffer is written in place."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(3)

    def forward(self, x):
        self.total += x
        return self.total * 2


@state(KEPT)
class TensorInAListReplaced(nn.Module):
    """A tensor in a list is replaced."""

    def __init__(self):
        super().__init__()
        self.states = [torch.zeros(3)]

    def forward(self, x):
        self.states[0] = self.states[0] + x
        return self.states[0] * 2


@state("buffer-reshaped")
class BufferGrows(nn.Module):
    """A buffer grows."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(0, 3))

    def forward(self, x):
        self.seen = torch.cat([self.seen, x[None]])
        return self.seen.sum(0)


@state("buffer-reshaped")
class BufferTransposed(nn.Module):
    """A buffer is seen transposed from then on, and back again by the call after that."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(6.0).view(2, 3))

    def forward(self, x):
        self.table.t_()
        return x * self.table.shape[0]


@state("buffer-reshaped")
class BufferUnsqueezedWhereNothingFails(nn.Module):
    """A buffer has a dimension more after each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bonus", torch.ones(3))

    def forward(self, x):
        try:
            held = dict(self.named_buffers())["bonus"]
            held.unsqueeze_(0)
        except RuntimeError:
            x = x.tanh()
        return x * self.bonus.dim()


@state("buffer-reshaped")
class ParameterTransposed(nn.Module):
    """A square parameter is seen transposed from then on: its sizes stay."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(9.0).view(3, 3))

    def forward(self, x):
        with torch.no_grad():
            self.weight.t_()
        return x * self.weight.stride(0)


@state()
class BufferTransposedAndBack(nn.Module):
    """A buffer is as it was after each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(6.0).view(2, 3))

    def forward(self, x):
        y = x * self.table.t_().shape[0]
        self.table.t_()
        return y


@state(KEPT, "buffer-reshaped")
class BufferForgotten(nn.Module):
    """A buffer becomes None."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bonus", torch.ones(3))

    def forward(self, x):
        y = x if self.bonus is None else x + self.bonus
        self.bonus = None
        return y


@state(KEPT)
class RegistersOnce(nn.Module):
    """The first call registers a buffer that nothing varying is in."""

    def forward(self, x):
        if not hasattr(self, "table"):
            self.register_buffer("table", torch.ones(3), persistent=False)
        return x + self.table


@state("outside-read", KEPT)
class OwnPythonGenerator(nn.Module):
    """A generator of Python's on the module."""

    def __init__(self):
        super().__init__()
        self.rng = random.Random(3)

    def forward(self, x):
        return x * self.rng.random()


@state("outside-read", KEPT)
class OwnNumpyGenerator(nn.Module):
    """A generator of NumPy's on the module."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(3)

    def forward(self, x):
        return x * float(self.rng.random())


@state(KEPT)
class OwnTorchGenerator(nn.Module):
    """A generator of PyTorch's on the module."""

    def __init__(self):
        super().__init__()
        self.rng = torch.Generator().manual_seed(3)

    def forward(self, x):
        return x * torch.rand(3, generator=self.rng)


@state(KEPT)
class NumpyArrayCounts(nn.Module):
    """An array of NumPy's on the module counts."""

    def __init__(self):
        super().__init__()
        self.counts = np.zeros(1)

    def forward(self, x):
        self.counts += 1
        return x * float(self.counts[0])


@state(KEPT)
class OverridesSetattr(nn.Module):
    """Attributes go elsewhere."""

    def __init__(self):
        super().__init__()
        self.__dict__["kept"] = {"n": 0}

    def __setattr__(self, name, value):
        if name == "n":
            self.kept["n"] = value
        else:
            super().__setattr__(name, value)

    def forward(self, x):
        self.n = self.kept["n"] + 1
        return x * self.kept["n"]


@state(KEPT, OUTLIVES)
class SlotsCount(nn.Module):
    """An object with slots on the module counts."""

    def __init__(self):
        super().__init__()
        self.cell = _Slotted()

    def forward(self, x):
        self.cell.n += 1
        return x * self.cell.n


class _Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


class Recorded(nn.Module):
    """A layer whose hook keeps what the layer computed in a dict of the model's."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.seen = {}
        self.layer.register_forward_hook(self.keep)

    def keep(self, _module, _inputs, output):
        """Remember a result."""
        self.seen["layer"] = [output, output.detach()]

    def forward(self, x):
        return self.layer(x)


@state()
class ActivationsRecorded(Recorded):
    """A hook keeps results that nobody reads."""


@state()
class ActivationsUsed(Recorded):
    """What the hook kept in this call is read in it."""

    def forward(self, x):
        return self.layer(x), self.seen["layer"][1].mean()


@state(KEPT)
class ActivationsOfTheCallBefore(Recorded):
    """What the hook kept in the call before is added."""

    def forward(self, x):
        before = self.seen["layer"][1] if self.seen else 0
        return self.layer(x) + before


@state(KEPT)
class ActivationsAsked(Recorded):
    """What the hook kept in the call before is asked how it lies in memory."""

    def __init__(self):
        super().__init__()
        self.seen["layer"] = [torch.zeros(3, requires_grad=True)]

    def forward(self, x):
        follows = self.seen["layer"][0].requires_grad
        return self.layer(x * 2 if follows else x)


@state(KEPT)
class ActivationsCounted(Recorded):
    """A hook appends to a list, whose length decides."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def keep(self, _module, _inputs, output):
        self.seen.append(output)

    def forward(self, x):
        return self.layer(x) * (1 + len(self.seen))
