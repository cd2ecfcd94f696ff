"""Every way to a tensor's memory: no bytes that are none, no address, and nothing that crashes.

All attributes of `torch.Tensor`, bound and taken from the class, and functions of PyTorch, NumPy
and Python that take a tensor, are tried on what stands for each kind of tensor.
"""

import array
import copy
import gc
import io
import multiprocessing.reduction as sending
import os
import pickle
import struct

import numpy as np
import pytest
import torch
from torch.utils import dlpack

import monograph
from monograph.abstract.memory_access import METHODS, PROPERTIES
from monograph.abstract.tensor import AbstractTensor
from monograph.diagnostics import MonographError

pytestmark = pytest.mark.filterwarnings("ignore")

SHAPE = (2, 3)
ARGUMENTS = ((), (0,), ({},), (2,), (torch.float64,), (lambda *each: each[0],))
NAMES = sorted({*dir(torch.Tensor)} - {"__class__", "__init_subclass__", "__abstractmethods__"})


def late(owner, name):
    """A function by its name at the time: a capture overrides some."""

    def call(tensor):
        return getattr(owner, name)(tensor)

    return call


FUNCTIONS = {
    "np.asarray": np.asarray,
    "np.array": np.array,
    "np.from_dlpack": np.from_dlpack,
    "np.frombuffer": np.frombuffer,
    "np.exp": np.exp,
    "np.sum": np.sum,
    "np.ascontiguousarray": np.ascontiguousarray,
    "np.save": lambda t: np.save(io.BytesIO(), t),
    "np.copyto": lambda t: np.copyto(np.empty(SHAPE), t),
    "np.matmul": lambda t: np.ones((1, 2)) @ t,
    "memoryview": memoryview,
    "bytes": bytes,
    "bytearray": bytearray,
    "array": lambda t: array.array("f", t),
    "struct": lambda t: struct.pack("f", t),
    "list": list,
    "pickle": pickle.dumps,
    "send": sending.ForkingPickler.dumps,
    "save": lambda t: torch.save(t, io.BytesIO()),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "torch.from_numpy": late(torch, "from_numpy"),
    "torch.from_dlpack": late(torch, "from_dlpack"),
    "torch.to_dlpack": late(dlpack, "to_dlpack"),
    "torch.frombuffer": lambda t: torch.frombuffer(t, dtype=torch.float32),
    "torch.tensor": late(torch, "tensor"),
    "torch.as_tensor": late(torch, "as_tensor"),
    "torch.asarray": late(torch, "asarray"),
    "torch.Tensor": torch.Tensor,
    "torch.FloatTensor": torch.FloatTensor,
    "torch.FloatStorage": torch.FloatStorage,
    "set_": lambda t: torch.empty(0).set_(t),
    "set_ of a storage": lambda t: torch.empty(0).set_(torch.Tensor.untyped_storage(t)),
    "data": torch._C.TensorBase.data.__get__,
    "C numpy": torch._C.TensorBase.numpy,
    "C storage": lambda t: torch._C.TensorBase.untyped_storage(t).tolist(),
    "subclass": lambda t: torch.Tensor._make_subclass(torch.Tensor, t).sum(),
    "subclass's array": lambda t: torch.Tensor._make_subclass(torch.Tensor, t).numpy(),
    "parameter": torch.nn.Parameter,
}


class Over(Exception):  # noqa: N818  nothing went wrong
    """The walk is over."""


class Walk(torch.nn.Module):
    """Has a tensor of each kind."""

    def __init__(self, step):
        super().__init__()
        self.step = step
        self.constant = torch.full(SHAPE, 7.0)
        self.register_buffer("buffer", torch.full(SHAPE, 8.0))
        self.weight = torch.nn.Parameter(torch.full(SHAPE, 9.0))
        self.parts = [self.buffer, self.weight]

    def forward(self, x):
        """Walk; no program is made."""
        self.step(
            {
                "input": lambda: x,
                "computed": lambda: x + 1,
                "literal": lambda: torch.ones(SHAPE),
                "constant": lambda: self.constant,
                "buffer": lambda: self.parts[0],
                "parameter": lambda: self.parts[1],
            }
        )
        raise Over


HELD = {"constant": 7.0, "literal": 1.0}
BYTES = (bytes, bytearray, memoryview, torch.UntypedStorage, torch.TypedStorage)


def walked(step) -> list[str]:
    """Run a function during a capture; the faults that it finds.

    Through a pipe: of what user code writes to objects a capture leaves nothing.
    """
    reading, writing = os.pipe()
    example = (torch.full(SHAPE, 5.0),)

    def told(tensors):
        faults = "\n".join(each for each in step(tensors) if each)
        os.write(writing, f"{faults[:60_000]}\nover".encode())

    # Some methods recurse as deep as they can; a collection there would find no room for its own.
    gc.disable()
    try:
        with pytest.raises((Over, MonographError)):
            monograph.export(Walk(told), example, strict=False)
    finally:
        gc.enable()
    os.close(writing)
    with os.fdopen(reading) as found:
        faults, over, _ = found.read().partition("over")  # a second run would collect problems
    assert over
    return sorted({*faults.splitlines()} - {""})


def tried(call):
    """What a call gives, or the exception."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001  whatever is raised is looked at
        return error


def fault(kind, name, given) -> str:
    """What is wrong with what somebody was given, "" if nothing is."""
    if isinstance(given, AbstractTensor | MonographError | torch.Tensor):
        return ""
    if isinstance(getattr(given, "tensor", None), AbstractTensor):
        return ""  # an array over one
    if isinstance(given, Exception):
        return f"{name}: {given}" if "data pointer" in str(given) and name in METHODS else ""
    if isinstance(given, np.ndarray):
        is_odd = given.dtype.kind in "OV"
        is_right = kind in HELD and (is_odd or bool((given == HELD[kind]).all()))
        return "" if is_right else f"{name} of {kind}: {given}"
    if isinstance(
        given, bytes | bytearray | memoryview | torch.UntypedStorage | torch.TypedStorage
    ):
        return f"{name} of {kind}: {type(given)}"
    if "capsule" in type(given).__name__.lower() and name != "__dlpack_c_exchange_api__":
        return "" if kind in HELD else f"{name} of {kind}: a capsule"
    is_address = isinstance(given, int) and abs(given) > 10**6 and name != "__hash__"
    return f"{name} of {kind}: {given}" if is_address else ""


@pytest.mark.parametrize("is_bound", [True, False], ids=["bound", "unbound"])
def test_attributes(is_bound):
    """No attribute of `torch.Tensor` shows memory that holds nothing."""

    def step(tensors):
        faults = []
        for name in NAMES:
            for kind, make in tensors.items():
                tensor = make()
                if name.endswith("_") and not name.startswith("_") and kind != "computed":
                    continue  # what writes is tried on what forward made
                found = tried(lambda t=tensor, n=name: getattr(t if is_bound else torch.Tensor, n))
                if is_bound or not callable(found):
                    faults.append(fault(kind, name, found if is_bound else None))
                if not callable(found) or isinstance(found, torch.Tensor):
                    continue
                for args in ARGUMENTS:
                    given = args if is_bound else (tensor, *args)
                    faults.append(fault(kind, name, tried(lambda f=found, a=given: f(*a))))

        return faults

    assert walked(step) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    """No function that takes a tensor finds bytes where there are none."""

    def step(tensors):
        faults = []
        for kind, make in tensors.items():
            given = tried(lambda m=make: FUNCTIONS[name](m()))
            if isinstance(given, torch.Tensor):
                given = tried(lambda g=given: g + 0)
            faults.append(fault(kind, name, given))

        return faults

    assert walked(step) == []


@pytest.mark.parametrize("name", METHODS + PROPERTIES)
def test_every_method_is_pytorchs(name):
    """The table lists what there is; `copy.copy` asks for `__copy__`."""
    assert hasattr(torch.Tensor, name) or name == "__copy__"


def test_nothing_stays():
    """After a capture `torch.Tensor` is as it was."""
    before = dict(vars(torch.Tensor))
    monograph.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    assert dict(vars(torch.Tensor)) == before
