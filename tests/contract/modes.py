"""Row `mode`: what the process is set to while a program is exported and called."""

from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m


@contextmanager
def default_dtype(dtype):
    """Another default dtype for a while."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def deterministic():
    """Deterministic algorithms for a while."""
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def cast():
    """Autocast to bfloat16 on the CPU."""
    return torch.autocast("cpu", dtype=torch.bfloat16)


def cast_half():
    """Autocast to float16 on the CPU."""
    return torch.autocast("cpu", dtype=torch.float16)


def double():
    """Float64 by default."""
    return default_dtype(torch.float64)


def vec():
    """Give a vector."""
    return (v(),)


def leaf():
    """Give a leaf that requires gradients."""
    return (v().requires_grad_(),)


def matrix():
    """Give a matrix."""
    return (m(3, 3),)


MODES = {
    "no_grad": Call(leaf, under=torch.no_grad),
    "inference": Call(vec, under=torch.inference_mode),
    "autocast": Call(vec, under=cast),
    "double": Call(vec, under=double),
    "deterministic": Call(vec, under=deterministic),
}


@probe("mode", leaf, calls=MODES)
def grad_mode_asked(x):
    """A branch on the grad mode."""
    return x * 2 if torch.is_grad_enabled() else x * 3


@probe("mode", Call(leaf, under=torch.no_grad), calls={"with grad": leaf, **MODES})
def exported_without_grad(x):
    """Exported under no_grad: results require no gradient there, and do outside."""
    return x * 2


@probe("mode", leaf, calls=MODES)
def grad_not_asked(x):
    """Nothing is asked: results require gradients as eager's do."""
    return x * 2, x.detach() + 1


@probe("mode", leaf, calls=MODES)
def grad_off_inside(x):
    """A region without gradients."""
    with torch.no_grad():
        y = x * 2
    return y * x, y


@probe("mode", leaf, calls=MODES)
def grad_on_inside(x):
    """A region with gradients, whatever surrounds it."""
    with torch.enable_grad():
        y = x * 2
    return y, x * 3


@probe("mode", leaf, calls=MODES)
@torch.no_grad()
def decorated(x):
    """All of it without gradients."""
    return x * 2


@probe("mode", leaf, calls=MODES)
def grad_restored(x):
    """The mode before is put back by hand."""
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(before)
    return y + x


@probe(
    "mode",
    leaf,
    calls={"no_grad": Call(leaf, under=torch.no_grad)},
    refused=("write-outlives-call",),
)
def grad_left_off(x):
    """The mode stays changed after the call."""
    y = x * 2
    torch.set_grad_enabled(False)
    return y


@probe("mode", vec, calls=MODES)
def inference_asked(x):
    """A branch on inference mode."""
    return x * 2 if torch.is_inference_mode_enabled() else x * 3


@probe("mode", vec, calls=MODES)
def inference_asked_without_gradients(x):
    """Within `no_grad`, calls are made in inference mode or not."""
    with torch.no_grad():
        return x * 2 if torch.is_inference_mode_enabled() else x * 3


@probe("mode", vec, calls=MODES)
def made_in_the_callers_mode(x):
    """Regions of grad modes make inference tensors where the caller is in inference mode."""
    with torch.enable_grad():
        y = x * 2
    return y * 2 if y.is_inference() else y * 3


@probe("mode", vec, calls=MODES)
class FollowedAnyway(nn.Module):
    """A region with gradients follows what is computed, and in inference mode it does not."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        with torch.enable_grad():
            y = x * self.w
        return y.detach() * (2 if y.requires_grad else 3)


@probe("mode", vec, calls=MODES)
def inference_inside(x):
    """A region of inference mode."""
    with torch.inference_mode():
        return x * 2


@probe("mode", vec, calls=MODES)
def differentiated_in_inference_mode(x):
    """What `torch.func` differentiates is computed outside of the mode, what it maps inside."""
    with torch.inference_mode():
        gradient = torch.func.grad(lambda e: (e * e).sum())(x)
        value, tangent = torch.func.jvp(torch.sin, (x,), (x,))
        rows = torch.func.jacrev(lambda e: e * 2)(x)
        return gradient, value, tangent, rows, torch.vmap(lambda e: e * 2)(x), gradient + 1


@probe("mode", vec, calls=MODES)
def conjugate_in_inference_mode(x):
    """What is read as its conjugate, or negated, stays so."""
    with torch.inference_mode():
        made = torch.complex(x, x)
        return made.conj(), made.conj().imag, made.imag


@probe("mode", vec, calls=MODES)
def viewed_in_inference_mode(x):
    """A view is what the tensor is that it shows; with another dtype, what the mode says."""
    with torch.inference_mode():
        bits, rest = x.view(torch.int32), x[1:]
    return bits, bits[1:], rest.view(torch.int32), rest


@probe(
    "mode",
    vec,
    calls={"inference tensor": lambda: (inference_tensor(),), "plain": vec},
)
def inference_tensor_given(x):
    """An inference tensor may be written to only in inference mode."""
    x.add_(1)
    return x * 2


def inference_tensor():
    """Give a tensor made in inference mode."""
    with torch.inference_mode():
        return v()


@probe(
    "mode",
    matrix,
    calls={
        "autocast": Call(matrix, under=cast),
        "half": Call(matrix, under=cast_half),
        "off": Call(matrix, under=lambda: torch.autocast("cpu", enabled=False)),
    },
)
def autocast_around(x):
    """Operators that autocast runs in another dtype."""
    return x @ x, F.softmax(x, -1), x + 1


@probe(
    "mode",
    Call(matrix, under=cast),
    calls={"none": matrix, "half": Call(matrix, under=cast_half)},
)
def exported_under_autocast(x):
    """Exported under autocast."""
    return x @ x, x + 1


@probe("mode", matrix, calls={"autocast": Call(matrix, under=cast)})
def autocast_asked(x):
    """A branch on autocast, and on its dtype."""
    if torch.is_autocast_enabled("cpu"):
        return x.to(torch.get_autocast_dtype("cpu"))
    return x * 2


@probe(
    "mode",
    matrix,
    calls={"autocast": Call(matrix, under=cast_half), "no_grad": Call(matrix, under=torch.no_grad)},
)
def autocast_inside(x):
    """A region of autocast, whatever surrounds it."""
    with cast():
        y = x @ x
    with torch.autocast("cpu", enabled=False):
        z = x @ x
    return y, z


@probe(
    "mode",
    matrix,
    calls={"autocast": Call(matrix, under=cast)},
)
class LinearUnderAutocast(nn.Module):
    """A layer whose weights autocast would cast."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x).relu()


@probe(
    "mode",
    lambda: (m(3, 3)[:, :2],),
    calls={"in rows": lambda: (m(3, 2),)},
    refused=("gradient-in-forward",),
)
def parts_of_what_may_be_an_inference_tensor(x):
    """A copy is one, what lies in rows is given back; so are parts of either."""
    with torch.inference_mode():
        y = x.contiguous()
    return y.chunk(2)


@probe("mode", vec, calls=MODES)
def leaves_gradients_on(x):
    """They are on after the call, whatever the caller's mode is."""
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y


@probe("mode", vec, calls=MODES)
def default_dtype_asked(x):
    """A branch on the default dtype."""
    return x * 2 if torch.get_default_dtype() == torch.float32 else x * 3


@probe("mode", vec, calls=MODES)
def made_in_the_default_dtype(x):
    """Factories without a dtype."""
    return x + torch.ones(3), torch.zeros(2), torch.arange(3.0), torch.full((2,), 1.5)


@probe("mode", vec, calls=MODES)
def asked_of_what_nobody_computes_with(x):
    """The dtype of a tensor of Python floats alone, and of what would become of an integer."""
    is_short = torch.tensor(1.5).dtype == torch.float32
    return x * (2 if is_short else 3), torch.result_type(x.int(), 1.5) == torch.float32


@probe("mode", vec, calls=MODES)
def made_of_numbers(x):
    """`torch.tensor` of Python floats, and what becomes of it."""
    return torch.tensor([1.5, 2.5, 3.5]) * x, torch.tensor(2.0)


@probe(
    "mode",
    lambda: (torch.arange(3),),
    calls={"double": Call(lambda: (torch.arange(3),), under=double)},
)
def integers_become_floats(x):
    """The result of a division of integers has the default dtype."""
    return x / 2, x.float(), x.sqrt(), x * 0.5, x.mean(dtype=None) if x.is_floating_point() else 1


@probe("mode", vec, calls={"double": Call(vec, under=double)})
def random_in_the_default_dtype(x):
    """Random factories follow the default dtype."""
    return x + torch.rand(3), torch.randn(2), torch.rand_like(x)


@probe("mode", Call(vec, under=double), calls={"float": vec})
def exported_under_double(x):
    """Exported under another default dtype."""
    return x + torch.ones(3), torch.linspace(0, 1, 3)


@probe(
    "mode",
    vec,
    calls={"meta": Call(vec, under=lambda: torch.device("meta"))},
)
def default_device(x):
    """Factories without a device."""
    return torch.ones(3), x * 2


@probe("mode", vec, calls=MODES)
def determinism_asked(x):
    """A branch on the deterministic flag."""
    return x * 2 if torch.are_deterministic_algorithms_enabled() else x * 3


@probe("mode", vec, calls={"deterministic": Call(vec, under=deterministic)})
def filled_when_deterministic(x):
    """Memory that is not initialised is filled with nan where determinism is asked for."""
    return torch.empty(3).fill_(1.0) + x


class Parts(nn.Module):
    """Dropout, a normalisation and a plain flag."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        y = self.norm(self.drop(x))
        return y * 2 if self.training else y * 3


def evaluated(module):
    """Put a module into evaluation."""
    module.eval()


def trained(module):
    """Put a module into training."""
    module.train()


TRAINING = {
    "eval": Call(lambda: (m(4, 3),), before=evaluated, times=2),
    "train": Call(lambda: (m(4, 3),), before=trained, times=2),
    "back and forth": Call(lambda: (m(4, 3),), before=lambda x: (x.eval(), x.train())),
}


@probe(
    "mode", lambda: (m(4, 3),), agrees={"twice": Call(lambda: (m(4, 3),), times=2)}, calls=TRAINING
)
class InTraining(Parts):
    """Exported in training."""


@probe(
    "mode", lambda: (m(4, 3),), agrees={"twice": Call(lambda: (m(4, 3),), times=2)}, calls=TRAINING
)
class InEvaluation(Parts):
    """Exported in evaluation."""

    def __init__(self):
        super().__init__()
        self.eval()


@probe("mode", lambda: (m(4, 3),), calls=TRAINING)
class PartlyFrozen(Parts):
    """The normalisation is in evaluation, the rest in training; `train()` changes both."""

    def __init__(self):
        super().__init__()
        self.norm.eval()


@probe("mode", lambda: (m(4, 3),), calls=TRAINING)
class FrozenAlways(Parts):
    """`train` is overridden, as models do that keep a part frozen."""

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self


@probe("mode", lambda: (v(),), calls={"twice": Call(lambda: (v(),), times=2)})
class ModeSetInside(nn.Module):
    """The mode is changed within the call and put back."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.9)

    def forward(self, x):
        self.drop.eval()
        y = self.drop(x)
        self.drop.train()
        return y + self.drop(x)


@probe(
    "mode",
    lambda: (m(4, 3),),
    calls={
        "no parameter gradients": Call(
            lambda: (m(4, 3),), before=lambda x: [p.requires_grad_(False) for p in x.parameters()]
        ),
        "double": Call(lambda: (m(4, 3).double(),), before=lambda x: x.double()),
        "half input": lambda: (m(4, 3).half(),),
    },
)
class ParametersChanged(nn.Module):
    """The parameters are changed after the export, in the program and in the module alike."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x)
        return y * 2 if y.requires_grad else y * 3


@probe("mode", lambda: (m(4, 3),), calls={"no grad": Call(lambda: (m(4, 3),), under=torch.no_grad)})
class FrozenParameter(nn.Module):
    """A parameter without gradients is asked for its flag."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.weight.requires_grad_(False)

    def forward(self, x):
        scale = 2.0 if self.layer.weight.requires_grad else 3.0
        return self.layer(x) * scale


class _NotesTheMode:
    """Computes later, in the mode that it was made in."""

    def __init__(self, x):
        self.x, self.mode = x, torch.is_grad_enabled()

    def __call__(self, w):
        with torch.set_grad_enabled(self.mode):
            return self.x @ w


@probe(
    "mode",
    lambda: (m(3, 3), m(3, 3)),
    agrees={"no grad": Call(lambda: (m(3, 3), m(3, 3)), torch.no_grad)},
    calls={"leaf": lambda: (m(3, 3).requires_grad_(), m(3, 3))},
)
def a_mode_that_is_handed_on(x, y):
    """What is asked for the caller's mode goes back to it, around a region of its own."""
    late = _NotesTheMode(x)
    with torch.no_grad():
        scale = y * 2
    return late(y) + scale


@probe(
    "mode",
    lambda: (m(3, 3), m(3, 3)),
    calls={"no grad": Call(lambda: (m(3, 3), m(3, 3)), torch.no_grad)},
)
def a_mode_handed_on_within_another(x, y):
    """Inside of `no_grad` the caller's mode is a mode like any other."""
    before = torch.is_grad_enabled()
    with torch.no_grad():
        inner = x * 2
        with torch.set_grad_enabled(before):
            inner = inner + y.sum() * torch.is_grad_enabled()
    return inner * 2


def _left(x):
    if x.sum() > 0:
        raise StopIteration(x * 2)
    return x - 1


_DECIDES = ("data-dependent-branch",)
_EITHER = {
    "other": lambda: (-m(3, 3).abs(), m(3, 3)),
    "other, leaf": lambda: (-m(3, 3).abs(), m(3, 3).requires_grad_()),
    "no grad": Call(lambda: (m(3, 3).abs(), m(3, 3).requires_grad_()), torch.no_grad),
    "other, no grad": Call(lambda: (-m(3, 3).abs(), m(3, 3).requires_grad_()), torch.no_grad),
}


@probe("mode", lambda: (m(3, 3).abs(), m(3, 3).requires_grad_()), agrees=_EITHER, refused=_DECIDES)
def gradients_left_by_an_exception(x, y):
    """One side goes on in the caller's mode, out of a `with` that the branch stands in."""
    with torch.enable_grad():
        try:
            z = _left(x) * y
        except StopIteration as e:
            z = e.value + y
    return y * 2 + z.detach(), z


@probe("mode", lambda: (m(3, 3).abs(), m(3, 3).requires_grad_()), agrees=_EITHER, refused=_DECIDES)
def modes_left_by_an_exception(x, y):
    """Autocast and a mode are left, of one or both sides; what is made in them keeps them."""
    try:
        with cast(), torch.no_grad():
            z = _left(x) @ y
            with torch.enable_grad():
                z = _left(y.detach() - x) @ y + z
    except StopIteration as e:
        return (y @ y) * 2 + e.value
    return z.float() @ y


@probe("mode", lambda: (*leaf(), v()), refused=(*_DECIDES, "branch-writes"))
def a_leaf_written_on_one_side(x, y):
    """PyTorch raises on that side, where the program would write to a copy."""
    if y.sum() > 1e6:
        x.add_(1)
    return y * 2


@probe("mode", lambda: (v(), v()), refused=(*_DECIDES, "branch-writes"))
class WritesToAParameterOnOneSide(nn.Module):
    """It may be written to without gradients only."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x, y):
        if y.sum() > 1e6:
            with torch.no_grad():
                self.weight.mul_(2)
            self.weight.add_(1)
        return x * 2


@probe("mode", vec, agrees={"leaf": leaf, "view": lambda: (v()[:],)})
def detached_in_inference_mode(x):
    """`detach_` does nothing there."""
    with torch.inference_mode():
        x.detach_()
        y = x.sum()
    return x * 2, y


@probe("mode", lambda: (v(), v()), refused=(*_DECIDES, "branch-decides"))
def followed_on_one_side_where_it_is_written(x, y):
    """The input is a copy there, which is told to be followed."""
    if y.sum() > -1e6:
        x.detach().add_(1)
        x.requires_grad_()


@probe("mode", vec, calls={"leaf": leaf})
def leaves_are_made_without_a_write(x):
    """No version counts it, and memory that `.data` shows stays another tensor's."""
    y, z = x.clone().requires_grad_(), x.data
    z.requires_grad_()
    return y, y._version, z


@probe("mode", lambda: (torch.ones(3),), refused=("write-outlives-call",))
def default_dtype_for_a_while(x):
    """What is made in between has another dtype than the program would give it."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        y = torch.ones(3)
    finally:
        torch.set_default_dtype(before)
    return x + y
