"""What code asks of its surroundings and of its values is answered as in eager code, or refused."""

import gc
import inspect
import numbers
import sys
import threading
import traceback
import weakref
from collections import namedtuple
from functools import singledispatch

import torch
from torch import nn
from torch.compiler import is_compiling as is_compiled
from torch.utils import _python_dispatch

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m

STACK = ("outside-read",)


def tall():
    """Give a matrix of four rows."""
    return (m(4, 3),)


def taller():
    """Give a matrix of seven rows."""
    return (m(7, 3),)


def vec():
    """Give a vector."""
    return (v(),)


def rows(dim):
    """The number of rows varies."""
    return [{0: dim("rows", min=2, max=64)}]


def chosen(x, condition):
    """What a condition of Python's decides."""
    return x * 2 if condition else x * 3


def sized(**expected):
    """Programs that are called with another number of rows."""
    return probe("size", tall, calls={"taller": taller}, shapes=rows, **expected)


# --- who runs it ---------------------------------------------------------------------------------


@probe("mode", vec)
def compiling_by_an_imported_name(x):
    """The function was imported by name before anything was exported."""
    return chosen(x, is_compiled())


@probe("mode", vec)
def exporting_asked_through_a_table(x):
    """Which function asks is looked up."""
    ask = {"e": torch.compiler.is_exporting, "d": torch.compiler.is_dynamo_compiling}
    return chosen(x, ask["e"]()), chosen(x, ask["d"]())


@probe("mode", vec)
def compiling_asked_by_c(x):
    """C calls the functions that ask."""
    asked = [torch.compiler.is_compiling, torch.compiler.is_exporting]
    return x * sum(map(type(is_compiled).__call__, asked)), chosen(
        x, any(map(type.__call__, [bool]))
    )


@probe("mode", vec)
def compiling_asked_of_deprecated_names(x):
    """Older libraries ask elsewhere, and are passed on."""
    return chosen(x, torch._utils.is_compiling())


@probe("mode", vec)
def tracing_asked(x):
    """Other ways by which a module can be run."""
    asked = torch.jit.is_tracing() or torch.jit.is_scripting() or torch.onnx.is_in_onnx_export()
    return chosen(x, asked)


@probe("mode", vec)
def compiling_asked_in_a_hook(x):
    """A hook on a part asks."""
    part = nn.Identity()
    part.register_forward_hook(lambda _, __, y: chosen(y, torch.compiler.is_compiling()))
    return part(x)


class Doubled(torch.autograd.Function):
    """A function with a backward of its own, which asks in its forward."""

    @staticmethod
    def forward(ctx, x):
        return chosen(x, torch.compiler.is_exporting())

    @staticmethod
    def backward(ctx, g):
        return g * 3


@probe("mode", vec)
def exporting_asked_where_autograd_calls(x):
    """Autograd calls what asks."""
    return Doubled.apply(x)


@probe("data", vec, calls={"other side": lambda: (-v(),)}, refused=("data-dependent-branch",))
def exporting_asked_on_one_side(x):
    """One side of a condition on data asks."""
    if x.sum() > 0:
        return chosen(x, torch.compiler.is_exporting())
    return x - 1


@probe("mode", vec)
def overrides_asked(x):
    """Whether the tensor's class, or a mode, overrides functions."""
    return chosen(x, torch.overrides.has_torch_function((x,))), chosen(
        x,
        torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
        and torch.overrides.has_torch_function_unary(x),
    )


@probe("mode", vec)
def dispatch_modes_counted(x):
    """The modes on PyTorch's stack are none, as in eager code."""
    modes = _python_dispatch._get_current_dispatch_mode_stack()
    depth = torch._C._len_torch_dispatch_stack()
    return x * (1 + len(modes)) + depth


@probe("mode", vec)
def dispatch_mode_asked(x):
    """The innermost mode."""
    return chosen(x, _python_dispatch._get_current_dispatch_mode() is None)


class PaddedEncoder(nn.Module):
    """Without gradients eager code packs the rows, and gives zeros where they are padded."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.eval()

    def forward(self, x, pad):
        return self.encoder(x, src_key_padding_mask=pad)


def padded():
    """Rows of three, of which the last is padded in one."""
    return m(6, 4).view(2, 3, 4), torch.tensor([[False, False, False], [False, False, True]])


PADDED_WITHOUT_GRADIENTS = probe(
    "mode", Call(padded, under=torch.no_grad), refused=("unsupported-layout",)
)(type("PaddedWithoutGradients", (PaddedEncoder,), {}))
PADDED_WITH_GRADIENTS = probe(
    "mode", padded, calls={"without gradients": Call(padded, under=torch.no_grad)}
)(type("PaddedWithGradients", (PaddedEncoder,), {}))


# --- the interpreter's own state -----------------------------------------------------------------


@probe("outside", vec, refused=STACK)
def depth_of_the_stack(x):
    """How many calls are in progress."""
    return x * len(inspect.stack())


@probe("outside", vec, refused=STACK)
def stack_as_text(x):
    """The calls in progress, as text."""
    return x * len("".join(traceback.format_stack())), x * len(traceback.extract_stack(limit=50))


@probe("outside", vec, refused=STACK)
def caller_asked(x):
    """Who called."""
    return x * len(inspect.currentframe().f_back.f_code.co_name)


@probe("outside", vec, refused=STACK)
def frame_above_by_number(x):
    """A frame some way up."""
    return x * len(sys._getframe(2).f_code.co_name)


@probe("outside", vec, refused=STACK)
def stack_walked(x):
    """The calls in progress, one after the other."""
    return x * sum(1 for _ in traceback.walk_stack(None))


@probe("outside", vec, refused=STACK)
def frames_of_all_threads(x):
    """What every thread runs."""
    return x * len([f for f in sys._current_frames().values() if f.f_back])


@probe("outside", vec, refused=STACK)
def frames_of_a_traceback(x):
    """A traceback leads to the callers."""
    try:
        raise ValueError
    except ValueError as error:
        frame, depth = error.__traceback__.tb_frame, 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return x * depth


@probe("outside", vec, refused=STACK)
def depth_until_it_ends(x):
    """How deep calls may go."""

    def below(depth):
        try:
            return below(depth + 1)
        except RecursionError:
            return depth

    return x * below(0)


@probe("outside", vec, refused=STACK)
def references_counted(x):
    """How many references there are to an object."""
    return x * sys.getrefcount(x)


@probe("outside", vec, refused=STACK)
def referrers_counted(x):
    """Who refers to an object."""
    return x * (1 + len(gc.get_referrers(x)))


@probe("outside", vec, refused=STACK)
def objects_counted(x):
    """What the collector knows."""
    return x * len(gc.get_objects()) + gc.get_count()[0]


@probe("outside", vec, refused=STACK)
def collector_asked(x):
    """Whether objects are collected."""
    return chosen(x, gc.isenabled())


@probe("outside", vec, refused=STACK)
def collected_now(x):
    """How many objects a collection found."""
    return x * (1 + gc.collect())


@probe("outside", vec, agrees={"twice": Call(vec, times=2)})
def collected_for_room(x):
    """A collection whose result nobody uses."""
    y = x * 2
    gc.collect()
    return y + 1


@probe("outside", vec, refused=STACK)
def profiler_asked(x):
    """Whether a profiler runs."""
    return chosen(x, sys.getprofile() is None), chosen(x, sys.gettrace() is None)


@probe("outside", vec, refused=STACK)
def thread_asked(x):
    """Which thread runs, and how many there are."""
    return x * len(threading.current_thread().name) + threading.active_count()


@probe("outside", vec, refused=STACK)
def size_of_an_object(x):
    """How many bytes Python needs for an object."""
    return x * sys.getsizeof(x.shape)


# --- what sizes and numbers are ------------------------------------------------------------------


@sized()
def size_is_an_int(x):
    """A size is an int, a true division a float, a comparison a bool."""
    n = x.shape[0]
    kinds = isinstance(n, int), isinstance(n / 2, float), isinstance(n > 2, bool)
    return [chosen(x, kind) for kind in kinds]


@sized()
def size_is_nothing_of_torchs(x):
    """A size is no symbol."""
    n = x.size(0)
    return chosen(x, isinstance(n, torch.SymInt)), chosen(x, isinstance(n, (str, torch.SymFloat)))


@sized()
def type_of_a_size(x):
    """`type` of a size, compared in many ways."""
    n = x.shape[0]
    kind = type(n)
    return (
        chosen(x, kind is int),
        chosen(x, type(n) == int),  # noqa: E721
        chosen(x, type(n) in (int, float)),
        x * {int: 4, float: 5}.get(kind, 6),
        x * len(type(n).__name__),
    )


@sized()
def type_of_parts_of_types(x):
    """Types of types, of sequences, and classes made by `type`."""
    made = type("Made", (), {"k": 3})
    return (
        x * made.k,
        chosen(x, type(made) is type),
        chosen(x, isinstance(made, type) and isinstance(int, type)),
        chosen(x, type(x.shape) is torch.Size),
        chosen(x, issubclass(type(x.shape[0]), int)),
        x * len([n for n in x.shape if type(n) is int]),
    )


@sized()
def class_of_a_size(x):
    """`__class__` of a size."""
    return chosen(x, x.shape[0].__class__ is int), chosen(x, x.numel().__class__ is int)


KIND_OF, IS_A = type, isinstance


@sized()
def builtins_by_other_names(x):
    """The builtins stand in globals of other names, and are passed around."""

    def ask(kind, n):
        return kind(n) is int

    return (
        chosen(x, KIND_OF(x.shape[0]) is int),
        chosen(x, IS_A(x.shape[0], torch.SymInt)),
        chosen(x, ask(KIND_OF, x.shape[0])),
    )


@sized(refused=STACK)
def builtin_as_a_default(x, kind=type):
    """A default value is bound where nobody looks."""
    return chosen(x, kind(x.shape[0]) is int)


@sized()
def size_as_a_number(x):
    """The abstract classes of numbers."""
    n = x.shape[0]
    return chosen(x, isinstance(n, numbers.Integral)), chosen(x, isinstance(n, numbers.Real))


@sized()
def size_matched(x):
    """A size is matched by its class."""
    match x.shape:
        case (int(), int()):
            y = x * 2
        case _:
            y = x * 3
    match x.shape[0]:
        case float() | str():
            return y
        case int(n):
            return y * n
    return y + 9


@singledispatch
def kind_of(value):
    """Tell what a value is."""
    return 3


@kind_of.register
def _(value: int):
    return 2


@sized()
def size_dispatched(x):
    """A function with an overload for integers."""
    return x * kind_of(x.shape[0]), x * kind_of(x)


@sized()
def classes_asked_by_c(x):
    """C asks for the classes of sizes."""
    kinds = list(map(type, x.shape))
    return chosen(x, kinds == [int, int]), chosen(x, all(map(int.__instancecheck__, x.shape[1:])))


@sized()
def classes_asked_in_comprehensions(x):
    """Comprehensions and generators ask."""
    return chosen(x, all(isinstance(n, int) for n in x.shape)), chosen(
        x, {type(n) for n in (x.shape[0], x.shape[0] / 2)} == {int, float}
    )


@sized(refused=("dim-range-violated",))
def comparison_is_true(x):
    """A comparison of a size is the object `True`."""
    return chosen(x, (x.shape[0] > 3) is True), chosen(x, (x.shape[0] == 2) is not False)


@sized()
def kinds_of_arguments(x):
    """A helper takes a number or a tensor."""

    def scale(by):
        if torch.is_tensor(by):
            return x * by.sum()
        if type(by) is float:
            return x - by
        return x * by if isinstance(by, int) and not isinstance(by, bool) else x

    return scale(x.shape[0]), scale(x), scale(x.shape[0] / 4), scale(x.shape[0] > 1)


@probe("data", vec, calls={"other": lambda: (v() + 1,)})
def class_of_a_number_in_data(x):
    """A number that is in a tensor is a float, or an int."""
    total, count = x.sum().item(), (x > 0).sum().item()
    kinds = type(total) is float, isinstance(total, float), isinstance(count, numbers.Integral)
    return [chosen(x, kind) for kind in kinds]


# --- what is returned ----------------------------------------------------------------------------

Pair = namedtuple("Pair", "left right")


@sized()
def shape_returned(x):
    """A shape is a `torch.Size`."""
    return x.shape


@sized()
def shapes_within_others(x):
    """Shapes in tuples, lists, dictionaries and named tuples."""
    return {"a": [x.shape, x.size()], "b": (x.shape[1:], Pair(x.T.shape, x.shape[0]))}


@sized()
def shapes_computed(x):
    """Shapes made of shapes."""
    return (
        torch.Size([x.shape[0] * 2, 3]),
        x.shape + (1,),
        (*x.shape, 1),
        x.shape[::-1],
        x.stride(),
        list(x.shape),
        tuple(x.shape),
        x.new_empty(0).shape,
    )


@sized()
def several_results_of_an_operator(x):
    """The named results of operators."""
    return torch.max(x, 0), x.sort(-1), torch.linalg.qr(x.T @ x + torch.eye(3)), x.unbind(1)


@sized()
def values_beside_tensors(x):
    """Dtypes, devices, numbers and texts."""
    return x.dtype, x.device, "text", x.numel(), x.shape[0] / 2, x.shape[0] > 3, None, x.dim()


class Sizes(nn.Module):
    """A part returns shapes, which the whole uses and returns."""

    class Part(nn.Module):
        """Returns its shape."""

        def forward(self, x):
            return x + 1, x.shape

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        y, shape = self.part(x)
        return y.reshape(shape[::-1]), shape


SHAPE_OF_A_PART = sized()(Sizes)
# --- inference mode ------------------------------------------------------------------------------


@probe("mode", vec)
@torch.inference_mode()
def decorated_with_inference(x):
    """All of it is run in inference mode."""
    return x * 2, x.exp().view(-1)


@probe("mode", vec)
def view_made_in_inference(x):
    """A view of the caller's tensor is no inference tensor."""
    with torch.inference_mode():
        return x.view(-1)


@probe("mode", vec)
def inference_left_again(x):
    """What is computed outside from what was computed within."""
    with torch.inference_mode():
        y = x.softmax(-1)
    return y * 2


@probe("mode", vec)
def inference_asked_of_results(x):
    """Results are asked after the region."""
    with torch.inference_mode():
        y = x * 2
    return chosen(x, y.is_inference()), chosen(x, (y + 1).is_inference())


@probe("mode", vec, refused=("gradient-in-forward",))
def inference_written_outside(x):
    """PyTorch refuses to write to an inference tensor outside."""
    with torch.inference_mode():
        y = x * 2
    try:
        y.add_(1)
    except RuntimeError:
        return x - 1
    return x + 1


@probe("mode", vec, calls={"followed": lambda: (v().requires_grad_(),)})
def inference_saved_for_backward(x):
    """PyTorch refuses to save an inference tensor for backward."""
    with torch.inference_mode():
        y = x * 2
    try:
        return x * y
    except RuntimeError:
        return x - 1


@probe("mode", vec)
def inference_turned_off(x):
    """A region without inference mode, within one."""
    with torch.inference_mode():
        y = x * 2
        with torch.inference_mode(mode=False):
            z = x * 3
    return z, y.sum()


@probe("mode", vec, calls={"twice": Call(vec, times=2)}, refused=("gradient-in-forward",))
class InferenceKept(nn.Module):
    """A buffer is replaced by an inference tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        with torch.inference_mode():
            self.total = self.total + x
        return x + 1


# --- what hangs on a tensor ----------------------------------------------------------------------


@probe("memory", vec)
def attributes_of_nothing(x):
    """Nobody put anything on the tensor, nor on one that is computed."""
    y = x + 1
    return chosen(x, bool(vars(x)) or bool(vars(y)) or set(dir(y)) - set(dir(torch.Tensor)))


@probe("memory", vec)
def names_that_tensors_do_not_have(x):
    """A version, a root or a base of the user's own."""
    return chosen(x, getattr(x, "version", 5) == 5 and not hasattr(x + 1, "root"))


@probe("memory", vec)
def attributes_of_the_users(x):
    """What was put on a tensor is read back, and nothing else is found there."""
    y = x * 2
    y.root, y.version = x, 3
    kept = {name: value for name, value in vars(y).items() if name != "root"}
    return y.root + kept["version"] + len(vars(y)) + y


@probe("memory", vec)
class MarkedParameter(nn.Module):
    """A parameter with an attribute of the user's has that one only."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.weight.version = 7

    def forward(self, x):
        marks = vars(self.weight)
        return chosen(x, list(marks) == ["version"]) * marks["version"]


@probe("memory", vec)
def tensors_in_an_exception(x):
    """What is raised holds a tensor and a size, and nobody asks for its text."""
    try:
        raise ValueError("no such value", x * 2, x.shape[0])
    except ValueError as error:
        return error.args[1] + error.args[2]


@probe("outside", vec, agrees={"again": vec})
def attributes_that_captures_use(x):
    """Dispatch by attributes that tensors and sizes have for a capture alone."""
    known = [hasattr(x, name) for name in ("node", "recorder", "tensor_type", "number")]
    return x * (2 if any(known) or hasattr(x.shape[0], "node") else 3) + getattr(x, "node", 5)


@probe("outside", vec, refused=("outside-read",))
def attribute_that_is_not_there(x):
    """The module's own handler catches what a tensor says of it."""
    try:
        return x.node + x.recorder
    except AttributeError as error:
        return x + len(error.args)


@probe("outside", vec, refused=("capture-failed", "outside-read"))
def attribute_of_a_capture_set(x):
    """A mark on a tensor, of a name that a capture needs."""
    y = x * 2
    y.node = 5
    return y + y.node


@probe("outside", vec, refused=("outside-read",))
def weak_reference_to_a_tensor(x):
    """Whether what was computed is still there when nobody holds it."""
    y = x * 2
    seen = weakref.ref(y)
    del y
    return x + (seen() is None)
