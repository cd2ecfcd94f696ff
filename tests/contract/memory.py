"""Row `memory`: ways to the bytes of a tensor, and its class."""

import copy
import io
import pickle

import numpy as np
import torch
from torch import nn
from torch.utils import dlpack

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m

BASES = torch.tensor([2.0, 3.0, 5.0])
SCALES = [torch.full((3,), 0.5), {"b": torch.arange(6.0).view(2, 3)}]
HALVES = torch.arange(3, dtype=torch.float16)


def vec():
    """Give a vector."""
    return (v(),)


def mat():
    """Give a matrix."""
    return (m(),)


AGAIN = {"thrice": Call(vec, times=3)}
MATRICES = {"other": lambda: (m(3, 5),), "empty": lambda: (torch.zeros(0, 4),)}


class Table(nn.Module):
    """A plain tensor, a buffer that is kept, one that forward writes to, and a parameter."""

    def __init__(self):
        super().__init__()
        self.table = torch.tensor([4.0, 9.0, 16.0])
        self.grid = torch.arange(12.0).view(3, 4).t()
        self.register_buffer("kept", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("count", torch.zeros(3))
        self.weight = nn.Parameter(torch.tensor([1.5, 2.5, 3.5]))
        self.parts = [self.count]


# --- NumPy and the array protocols -------------------------------------------------------------


READS = ("specialized-value", "value-read")


@probe("memory", vec, agrees=AGAIN)
class NumpyOfAnAttribute(Table):
    """Numbers read through NumPy, with its functions and slices."""

    def forward(self, x):
        roots = np.sqrt(self.table.numpy())
        return x * float(roots[1]) + float(self.table.numpy()[::-1][0])


@probe("memory", vec, agrees=AGAIN)
class NumpyOfATransposedAttribute(Table):
    """Strides of the array are those of the tensor."""

    def forward(self, x):
        a = self.grid.numpy()
        return x * a.strides[0] + float(a[3, 2]) + len(a) + a.shape[1]


@probe("memory", vec, agrees=AGAIN)
def numpy_of_a_global(x):
    """Tensors of the file, in a container, through `np.asarray` and a ufunc."""
    a, b = np.asarray(SCALES[0]), np.asarray(SCALES[1]["b"], dtype=np.float64)
    c = np.multiply(HALVES.numpy(), 2)
    return x * float(a.sum()) + float(b[1].max()) + float(c[2])


@probe("memory", vec, calls=AGAIN)
def numpy_of_a_literal(x):
    """What forward makes of constants alone."""
    steps = (torch.arange(4) * 2).numpy()
    return x * int(steps[3]) + float(np.asarray(torch.linspace(0, 1, 3)).mean())


@probe("memory", vec, agrees=AGAIN)
class BackFromNumpy(Table):
    """There and back again, and a slice of it."""

    def forward(self, x):
        back = torch.from_numpy(self.table.numpy())
        return x + back, x * torch.as_tensor(self.table.numpy()[:2]).sum()


@probe("memory", vec, calls=AGAIN)
class BackFromNumpyReturned(Table):
    """What comes back is the attribute's memory, and is returned beside it."""

    def forward(self, x):
        back = torch.from_numpy(self.table.numpy())
        return x * 2, back, self.table


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class ArrayWritten(Table):
    """A write to the array is one to the attribute."""

    def forward(self, x):
        a = self.table.numpy()
        a[0] += 1
        return x + self.table


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
def array_of_a_local_written(x):
    """A write to the array is one to a tensor made here."""
    t = torch.zeros(3)
    t.numpy()[:] = 7
    return x + t


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
def array_of_a_local_stale(x):
    """The tensor is written to after NumPy has its memory."""
    t = torch.ones(3)
    a = t.numpy()
    t.mul_(5)
    return x * float(a[0])


@probe("memory", vec, calls=AGAIN, refused=READS)
class NumpyOfABuffer(Table):
    """A buffer that forward writes to, reached through a list."""

    def forward(self, x):
        self.count.add_(1)
        return x * float(np.asarray(self.parts[0])[0])


@probe("memory", vec, calls=AGAIN, refused=READS)
class NumpyOfAParameter(Table):
    """A parameter's values, outside of autograd."""

    def forward(self, x):
        return x * float(self.weight.detach().numpy()[1])


@probe("memory", vec, calls=AGAIN, refused=READS)
class AttributeViewsABuffer(Table):
    """A plain attribute that is a slice of a buffer that is written to."""

    def __init__(self):
        super().__init__()
        self.slice = self.count[1:]

    def forward(self, x):
        self.count.add_(1)
        return x + self.slice.sum(), x * float(self.slice.numpy()[0])


@probe("memory", vec, calls=AGAIN)
class AttributeViewsABufferRead(Table):
    """The same, read by operators alone."""

    def __init__(self):
        super().__init__()
        self.slice = self.count[1:]

    def forward(self, x):
        self.count.add_(1)
        return x + self.slice.sum()


@probe("memory", mat, calls=MATRICES, refused=READS)
def numpy_of_a_computed(x):
    """What is computed of an input has no values yet."""
    return x * float(np.median(x.sum(0).numpy(force=True)))


@probe("memory", mat, calls=MATRICES, refused=READS)
def ufunc_on_an_input(x):
    """NumPy's function is given an input."""
    return torch.as_tensor(np.exp(x))


@probe("memory", mat, calls=MATRICES, refused=READS)
def unbound_numpy(x):
    """The method is taken from the class."""
    return x * float(torch.Tensor.numpy(x).sum())


@probe("memory", mat, calls=MATRICES, refused=READS)
def array_method(x):
    """The protocol's method, called by its name."""
    return x + float(x.__array__(np.float64)[0, 0])


# --- DLPack ------------------------------------------------------------------------------------


@probe("memory", mat, calls=MATRICES)
def dlpack_to_torch(x):
    """An alias by DLPack is written to."""
    y = torch.from_dlpack(x)
    y.mul_(2)
    return x + 1, y


@probe("memory", mat, calls=MATRICES, refused=READS)
def dlpack_capsule(x):
    """The capsule is made and taken in two steps."""
    return dlpack.from_dlpack(dlpack.to_dlpack(x * 2)) + 1


@probe("memory", mat, calls=MATRICES, refused=READS)
def dlpack_to_numpy(x):
    """NumPy takes an input by DLPack."""
    return x - float(np.from_dlpack(x * 2).ravel()[0])


@probe("memory", vec, agrees=AGAIN)
class DlpackOfAnAttribute(Table):
    """NumPy takes a constant by DLPack, and PyTorch takes another."""

    def forward(self, x):
        return x * float(np.from_dlpack(self.table)[2]) + torch.from_dlpack(BASES)


@probe("memory", lambda: (m().requires_grad_(),), calls=MATRICES)
def dlpack_of_what_is_followed(x):
    """PyTorch refuses to hand out what autograd follows, and the program goes on."""
    try:
        return torch.from_dlpack(x) * 2
    except BufferError:
        return x * 3


# --- addresses and storages --------------------------------------------------------------------


@probe("memory", mat, calls={"same": lambda: (torch.ones(2, 2),)}, refused=("outside-read",))
def alignment_of_an_input(x):
    """The address decides how it is aligned."""
    return x * 2 if x.data_ptr() % 64 == 0 else x * 3


@probe("memory", vec, calls=AGAIN, refused=("outside-read",))
class AddressOfAnAttribute(Table):
    """Whether two constants share memory."""

    def forward(self, x):
        return x * (2 if self.table.data_ptr() == self.grid.data_ptr() else 3)


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class StorageOfAnAttribute(Table):
    """Bytes of a constant's storage."""

    def forward(self, x):
        return x * self.table.untyped_storage()[3]


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class StorageWritten(Table):
    """A constant is written to through its storage."""

    def forward(self, x):
        self.table.untyped_storage().fill_(0)
        return x + self.table


@probe("memory", mat, calls=MATRICES)
def storage_taken_over(x):
    """Another tensor takes over an input's storage."""
    y = torch.empty(0)
    y.set_(x)
    return y * 2


@probe("memory", mat, calls=MATRICES, refused=("memory-exposed",))
def storage_of_the_class(x):
    """The storage, by the method of the class."""
    return torch.empty(0).set_(torch.Tensor.untyped_storage(x)).sum()


@probe("memory", mat, calls=MATRICES, refused=("outside-read",))
def memory_of_the_base(x):
    """What a view is a view of."""
    return x * (2 if x[0]._base is None else 3)


@probe("memory", mat, calls=MATRICES, refused=READS)
def function_of_elements(x):
    """A Python function is applied to each element in place."""
    return x.clone().apply_(lambda each: each + 1)


@probe("memory", mat, calls=MATRICES, refused=("computed-in-thread",))
def as_plain_subclass(x):
    """A plain tensor on the same memory."""
    return x.as_subclass(torch.Tensor) + torch.Tensor._make_subclass(torch.Tensor, x)


# --- copies and pickles ------------------------------------------------------------------------


@probe("memory", mat, calls=MATRICES)
def deep_copy_written(x):
    """A deep copy of an input is written to."""
    y = copy.deepcopy(x)
    y += 1
    return x, y


@probe("memory", vec, agrees=AGAIN)
class DeepCopies(Table):
    """Deep copies of a constant, a buffer and containers of them, written to."""

    def forward(self, x):
        y = copy.deepcopy(self.table)
        y += x
        held = copy.deepcopy({"a": [self.kept], "b": BASES})
        held["a"][0].mul_(3)
        return y, held["a"][0] + held["b"], self.kept * 1


@probe("memory", mat, calls=MATRICES)
def deep_copies_that_share(x):
    """Two views stay views of one memory when they are copied together."""
    first, second = copy.deepcopy([x, x[:1]])
    second.add_(1)
    return first, second


@probe("memory", mat, calls=MATRICES)
def deep_copy_of_a_result(x):
    """What autograd computed is not copied by PyTorch."""
    y = copy.deepcopy((x * 2).detach())
    return y.sub_(1), x * 2


@probe(
    "size",
    mat,
    agrees={f"{n} rows": (lambda n=n: (m(n, 4),)) for n in (2, 5)},
    shapes=lambda dim: ({0: dim.AUTO},),
)
def deep_copies_of_views(x):
    """Of a number of rows that varies; what is copied together shares memory."""
    whole, rest = copy.deepcopy((x.detach(), x.detach()[1:]))
    rest.mul_(2)
    return whole, copy.deepcopy((x * 2).detach().t()), copy.deepcopy(x.detach()) + 1


@probe("memory", vec, calls=AGAIN)
class DeepCopyOfAParameter(Table):
    """It is a parameter again, and its own leaf."""

    def forward(self, x):
        w = copy.deepcopy(self.weight)
        return x * w.detach() * (2 if isinstance(w, nn.Parameter) else 3) * (1 + w.is_leaf)


@probe("memory", mat, calls=MATRICES)
def shallow_copy_written(x):
    """A shallow copy shares the memory."""
    y = copy.copy(x)
    y.add_(1)
    return x * 2


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class PickledAttribute(Table):
    """A constant goes through pickle."""

    def forward(self, x):
        return x + pickle.loads(pickle.dumps(self.table))


@probe("memory", mat, calls=MATRICES, refused=("memory-exposed",))
def saved_input(x):
    """An input goes through a file."""
    file = io.BytesIO()
    torch.save(x * 2, file)
    file.seek(0)
    return torch.load(file)


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class SharedMemory(Table):
    """A constant moves to memory that processes share."""

    def forward(self, x):
        return x + self.table.share_memory_()


# --- numbers and texts -------------------------------------------------------------------------


@probe("memory", vec, agrees=AGAIN)
class NumbersOfConstants(Table):
    """Lists and numbers of constants, by every name."""

    def forward(self, x):
        numbers = self.table.tolist() + [float(self.table[1]), BASES[0].item()]
        places = [3, 4, 5, 6][torch.tensor(2)]
        return x * sum(numbers) + int(self.table[2]) + places + complex(BASES[1]).real


@probe("memory", vec, calls=AGAIN)
class ListOfABuffer(Table):
    """A buffer that forward writes to, as a list."""

    def forward(self, x):
        self.count.add_(2)
        return x * self.parts[0].tolist()[0]


@probe("memory", vec, calls=AGAIN, refused=READS)
class TextOfABuffer(Table):
    """The text of a buffer that forward writes to."""

    def forward(self, x):
        self.count.add_(1)
        return x * len(str(self.parts[0])) + ("1." in repr(self.parts[0]))


# --- arrays that tensors are made of -----------------------------------------------------------

GIVEN = np.ones(3, np.float32)


@probe("memory", vec, agrees=AGAIN)
def tensor_of_an_array_written(x):
    """The array is nobody's but the tensor's."""
    t = torch.from_numpy(np.zeros(3, np.float32))
    t += x
    t[1:] *= 2
    return t


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
def array_read_after(x):
    """The array is read after the tensor was written to."""
    a = np.zeros(3, np.float32)
    t = torch.from_numpy(a[:2])
    t.add_(4)
    return x * float(a[0])


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
def array_written_after(x):
    """The array is written to after the tensor was read."""
    a = np.zeros(3, np.float32)
    t = torch.as_tensor(a)
    y = x + t
    a[0] = 5
    return y + torch.asarray(a)


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
def array_written_between(x):
    """It holds again what it held when the run ends, and held something else for the tensor."""
    a = np.zeros(3, np.float32)
    t = torch.as_tensor(a)
    a[0] = 5
    y = torch.stack([t, x])
    a[0] = 0
    return y


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
def array_of_a_constant_written_between(x):
    """As above, of a tensor's array."""
    a = SCALES[0].numpy()
    a[:1] = 5
    y = x + SCALES[0].sum()
    a[:1] = 0.5
    return y


VIEWED = nn.Parameter(torch.ones(3))
VIEW = VIEWED.detach().numpy()[::-1]


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class ParameterReadByAnArray(nn.Module):
    """An array of the file lies in the memory of a parameter, which calls find changed."""

    def __init__(self):
        super().__init__()
        self.weight = VIEWED

    def forward(self, x):
        return x * float(VIEW[0]) + self.weight


FILLED = np.ones(3, np.float32)


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class BufferMadeOfAnArray(nn.Module):
    """The same, of an array that a buffer was made of."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.from_numpy(FILLED[1:]))

    def forward(self, x):
        self.b.add_(1)
        return x * float(FILLED[1])


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class BufferMadeOfBytes(nn.Module):
    """The same, of bytes that are the module's."""

    def __init__(self):
        super().__init__()
        self.given = bytearray(12)
        self.register_buffer("b", torch.frombuffer(self.given, dtype=torch.float32))

    def forward(self, x):
        self.b.add_(1)
        return x * self.given[3]


class Viewed(nn.Module):
    """Arrays in the memory of a buffer and of a parameter, and one of its own."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.weight = nn.Parameter(torch.ones(3))
        self.own = np.full(3, 2.0)
        self.v = self.b.numpy()
        self.again = self.v
        self.parts = [{"v": self.weight.detach().numpy()[1:]}]


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class AttributeInABuffer(Viewed):
    """An array of the module lies in the memory of a buffer that forward writes to."""

    def forward(self, x):
        self.b.add_(1)
        return x * float(self.v[0])


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class SecondAttributeInABuffer(Viewed):
    """The same array by its second name."""

    def forward(self, x):
        self.b.add_(1)
        return x * float(getattr(self, "again")[0])  # noqa: B009 - as code of users has it


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class AmongAllAttributes(Viewed):
    """The same array, where all attributes are."""

    def forward(self, x):
        self.b.add_(1)
        return x * float(vars(self)["v"][0])


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class AmongCopiedAttributes(Viewed):
    """The same array, in a copy of the module."""

    def forward(self, x):
        self.b.add_(1)
        return x * float(copy.copy(self).v[0])


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
class ListedInAParameter(Viewed):
    """An array in a list of dicts lies in the memory of a parameter."""

    def forward(self, x):
        return x * float(self.parts[0]["v"][0]) + self.weight


@probe("memory", vec, agrees=AGAIN)
class ArraysNotRead(Viewed):
    """The module has such arrays, and forward reads others."""

    def forward(self, x):
        self.b.add_(1)
        return x * float(self.own[0]) + self.b + self.weight


@probe("memory", vec, calls=AGAIN, refused=("memory-exposed",))
def buffer_read_after(x):
    """Bytes that a tensor is made of."""
    b = bytearray(12)
    t = torch.frombuffer(b, dtype=torch.float32)
    t.add_(1)
    return x * b[3]


@probe("memory", Call(vec, before=lambda _: GIVEN.fill(1)), calls={
    "again": Call(vec, before=lambda _: GIVEN.fill(1), times=2)
}, refused=("memory-exposed",))  # fmt: skip
def array_of_the_file_written(x):
    """An array of the file is written to through a tensor."""
    torch.from_numpy(GIVEN).mul_(2)
    return x + 1


# --- classes -----------------------------------------------------------------------------------


@probe("memory", mat, agrees={"twice": Call(mat, times=2)}, calls=MATRICES)
def class_of_an_input(x):
    """The class of an input and of a result, by every name."""
    y = x + 1
    plain = type(x) is torch.Tensor and y.__class__ is torch.Tensor
    named = type(y).__name__ + type(x).__module__ == "Tensortorch"
    known = type(x) in {torch.Tensor, nn.Parameter} and {torch.Tensor: 1}.get(type(y), 0)
    return x * (2 if plain and named and known and type(x.shape) is torch.Size else 3)


@probe("memory", vec, agrees=AGAIN)
class ClassOfAParameter(Table):
    """The class of a parameter, of a buffer and of what is computed of them."""

    def forward(self, x):
        w, b = self.weight, self.kept
        plain = type(w) is nn.Parameter and isinstance(w, nn.Parameter)
        others = type(b) is torch.Tensor and not isinstance(w * 2, nn.Parameter)
        named = w.__class__.__qualname__ == "Parameter" and issubclass(type(w), torch.Tensor)
        return x * w.detach() * (2 if plain and others and named else 3)


@probe("memory", vec, calls={"a parameter": lambda: (nn.Parameter(v()),)})
def class_attribute_of_an_input(x):
    """An input that is a parameter in another call."""
    return x * 2 if x.__class__ is torch.Tensor else x * 3


@probe("memory", vec, calls={"a parameter": lambda: (nn.Parameter(v()),)})
def class_of_what_may_be_a_parameter(x):
    """The same by `type`, within a comprehension."""
    return x * sum([2 if type(each) is torch.Tensor else 3 for each in (x,)])


class Scale(nn.Parameter):
    """A parameter of a class of its own."""


@probe("memory", vec, agrees=AGAIN)
class ClassOfOnesOwn(nn.Module):
    """A parameter's class is the user's."""

    def __init__(self):
        super().__init__()
        self.weight = Scale(torch.ones(3))

    def forward(self, x):
        kinds = {Scale: 2, nn.Parameter: 3, torch.Tensor: 5}
        return x * kinds[type(self.weight)] * kinds[self.weight.__class__] * self.weight.detach()


class Scaled(nn.Parameter):
    """One that has more than parameters have."""

    by: int = 2

    def scaled(self):
        """A multiple."""
        return self * self.by

    @property
    def opposite(self):
        """The opposite."""
        return -self


class Multiplies(nn.Parameter):
    """One whose products are others."""

    def mul(self, other):
        """Twice what PyTorch gives."""
        return self * other * 2


@probe("memory", vec, agrees=AGAIN)
class MethodsOfAParameter(nn.Module):
    """What a parameter's class has, and PyTorch does not."""

    def __init__(self):
        super().__init__()
        self.weight = Scaled(torch.ones(3))

    def forward(self, x):
        return x * self.weight.scaled() + self.weight.opposite


@probe("memory", vec, refused=("unsupported-subclass",))
class MethodsOfAParameterThatAreOthers(nn.Module):
    """What a parameter's class has in the place of PyTorch's."""

    def __init__(self):
        super().__init__()
        self.weight = Multiplies(torch.ones(3))

    def forward(self, x):
        return self.weight.mul(x)


SHARED = torch.ones(3)


@probe("memory", vec, refused=("mutated-constant", "data-replaced"))
def data_of_a_global_replaced(x):
    """A tensor from outside gets what the call computes."""
    SHARED.data = x * 2
    return x + SHARED


@probe("memory", vec, refused=("mutated-constant", "data-replaced"))
class DataOfAnAttributeReplaced(Table):
    """A plain tensor of the module gets memory of another size."""

    def forward(self, x):
        self.table.data = torch.zeros(4)
        return x + self.table.sum()


@probe("memory", vec, refused=("capture-failed",))
def address_by_the_base_class(x):
    """The address, by the method that C++ has."""
    return x + torch._C.TensorBase.data_ptr(x) % 2


@probe("memory", vec, refused=("capture-failed", "value-read"))
def capsule_by_the_private_name(x):
    """A capsule of DLPack, by the function that C++ has."""
    torch._C._to_dlpack(x)
    return x + 1


@probe(
    "memory",
    lambda: (torch.randn(4, 3),),
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def memory_of_varying_size_taken_over(x):
    """A tensor of no elements takes over a copy of the input."""
    y = torch.empty(0, dtype=x.dtype)
    y.set_(x.detach().clone())
    return y * 2


@probe("memory", lambda: (v(4), v(4)), refused=("data-replaced",))
def data_of_an_input_replaced_beside_a_view(x, t):
    """The view keeps the memory that the input had."""
    b = t.view(2, 2)
    t.data = x * 2
    return t * 1, b * 1


@probe("memory", lambda: (torch.randn(2, 4),), refused=("data-replaced",))
def data_of_a_part_replaced(x):
    """One of several views keeps what it had in common with the whole."""
    whole = x * 1
    part = whole.chunk(2, 1)[1]
    part.data = part.data * 2
    return whole


@probe("memory", lambda: (torch.randn(2, 4),), refused=("data-replaced",))
def data_that_lies_otherwise(x):
    """What it is given lies by columns."""
    y = x * 1
    y.data = (x * 2).t().contiguous().t()
    return y


@probe(
    "memory",
    lambda: (torch.randn(4, 4),),
    calls={
        "every other": lambda: (torch.randn(8, 8)[::2, ::2],),
        "expanded": lambda: (torch.randn(1, 4).expand(4, 4),),
    },
)
def data_of_an_input_that_lies_anyhow(x):
    """It lies afterwards as what it was given."""
    x.data = x.data * 2
    return x


@probe(
    "memory",
    lambda: (torch.randn(2, 4),),
    agrees={"followed": lambda: (torch.randn(2, 4).requires_grad_(),)},
)
def data_that_is_turned(x):
    """What is outside of autograd stays there."""
    y = (x * 1).data
    y.t_()
    return y


@probe(
    "memory",
    lambda: (torch.randn(2, 3, dtype=torch.complex64),),
    calls={"turned": lambda: (torch.randn(3, 2, dtype=torch.complex64).t(),)},
)
def conjugates_in_rows(z):
    """What is in rows already is given back, and stays lazy."""
    return z + 1 if z.conj().contiguous().is_conj() else z


@probe("memory", lambda: (torch.randn(4, 3),))
def transforms_that_stay_lazy(x):
    """Transforms of real numbers give half of it, as a conjugate."""
    made = torch.fft.ihfft(x), torch.fft.ifft(x), torch.fft.fft(x), torch.fft.fft(x).mH
    return x + sum(2**i * each.is_conj() for i, each in enumerate(made))
