"""Which operators PyTorch lets write where elements share memory is what the table says."""

import functools
import itertools
import warnings

import pytest
import torch

import monograph
from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.kernel_errors import refuses_shared
from monograph.host.dispatch import overloads_named
from tests.laws.rule_check import (
    OperatorWatch,
    is_ordinary,
    load_rules,
    mapped,
    op_samples,
    own_samples,
)

SOURCES = {
    "itself": lambda y, memory: y,
    "a view": lambda y, memory: y.view(3),
    "no gradient": lambda y, memory: y.detach(),
    "the next": lambda y, memory: memory[2:3].expand(3),
    "apart": lambda y, memory: memory[1:4],
    "a row": lambda y, memory: y[None],
    "bits": lambda y, memory: y.view(torch.int32),
    "another": lambda y, memory: y.clone(),
}
"""What may be copied to a vector that repeats one element."""
pytestmark = pytest.mark.laws


class Watch(OperatorWatch):
    """Tries the in-place operators beside those that it is told of."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        is_tried = is_ordinary(args, kwargs) and not aliasing_of(func).is_idle(args, kwargs)
        for op in in_place(func) if is_tried else ():
            found = is_refused(op, args, kwargs)
            if found is not None:
                self.seen.add(op._schema.name.removeprefix("aten::"))
                if found is not refuses_shared(op, args[0].dtype):
                    self.faults.setdefault(str(op), f"{args[0].dtype}: refused is {found}")
        return func(*args, **kwargs)


@functools.cache
def in_place(func):
    """The operators that change their first argument to what another makes of it; itself if so."""
    if func.namespace != "aten":
        return ()
    name = func._schema.name.removeprefix("aten::")
    found = [f for each in (name, f"{name}_") for f in overloads_named("aten", each)]
    return [f for f in found if aliasing_of(f).is_inplace and arguments(f) == arguments(func)]


def arguments(func):
    """Their names and types."""
    return [(a.name, str(a.type)) for a in func._schema.arguments]


def is_refused(op, args, kwargs):
    """Whether elements that share memory make the difference; None where nothing can be said."""
    if not args or not isinstance(args[0], torch.Tensor) or not args[0].numel() > 1:
        return None
    raised = []
    for target in (args[0].clone(), repeated(args[0])):
        others = mapped(args[1:], lambda v: v.clone() if isinstance(v, torch.Tensor) else v)
        try:
            op(target, *others, **kwargs)
        except Exception as error:  # noqa: BLE001 - what it takes is tested elsewhere
            raised.append(str(error))
        else:
            raised.append("")
    return None if raised[0] else "to a single memory location" in raised[1]


def repeated(tensor):
    """The same sizes, one of them by repetition, in a room for kernels that ask nothing."""
    dim = next(dim for dim, size in enumerate(tensor.shape) if size > 1)
    strides = [*itertools.accumulate(tensor.shape[:0:-1], int.__mul__, initial=1)][::-1]
    strides[dim] = 0
    room = torch.zeros(3 * tensor.numel(), dtype=tensor.dtype)
    made = room.as_strided(tensor.shape, strides, tensor.numel())
    made.narrow(dim, 0, 1).copy_(tensor.narrow(dim, 0, 1))
    return made


def sweep(samples):
    """Every call of the samples."""
    watch = Watch()
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        for _, sample in samples:
            try:
                with torch._C._AutoDispatchBelowADInplaceOrView(), watch:
                    sample()
            except Exception:  # noqa: BLE001 - torch's own samples
                continue
    return watch


def test_the_table_says_which_writes_are_refused():
    """Of floats, numbers and complex ones."""
    load_rules()
    dtypes = [torch.float32, torch.int64, torch.complex64]
    watch = sweep([*own_samples(), *op_samples(dtypes, 2)])
    assert not watch.faults, "\n".join(f"{k}: {v}" for k, v in sorted(watch.faults.items()))
    assert len(watch.seen) > 150
    assert watch.seen >= {"add_", "copy_", "fill_", "masked_fill_", "nan_to_num_", "tril_"}


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("source", SOURCES)
def test_the_same_elements_may_be_copied(source, strict):
    """PyTorch looks for them first; what it does is caught, and decides what is returned."""
    given = SOURCES[source]

    class Module(torch.nn.Module):
        def forward(self, x):
            memory = x * 2
            y = memory[1:2].expand(3)
            try:
                y.copy_(given(y, memory))
            except RuntimeError:
                return x + 1, memory
            return x * 3, memory

    program = monograph.export(Module(), (torch.randn(4),), strict=strict)
    again = torch.randn(4)
    torch.testing.assert_close(program.module()(again), Module()(again))
