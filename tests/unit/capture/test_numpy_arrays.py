"""NumPy on abstract arrays: dtypes, values, sizes unlike the example, memory and refusals."""

from __future__ import annotations

import copy
import math
from itertools import cycle

import numpy as np
import pytest
import torch

from monograph import Dim, draft_export, export
from monograph.capture.numpy_arrays import UFUNCS
from monograph.diagnostics import ContractError, DataDependentError, MonographError


class Of(torch.nn.Module):
    """A function of one tensor."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def _augmented(a):
    a = a.copy()
    a += 1
    a *= 2
    return a


def _assigned(a):
    b = a.copy()
    b[0] = 7
    b[1:] = a[1:] * 2
    return b


def _softmax(a):
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


FUNCTIONS = {
    "numbers": lambda a: (3 - a * 2 + a / 2) * np.float32(2.5),
    "double scalar": lambda a: a * np.float64(2),
    "integer scalar": lambda a: a + np.int64(3),
    "array beside": lambda a: a + np.arange(4),
    "whole": lambda a: a // 2 + a % 3,
    "power": lambda a: a**2,
    "compared": lambda a: (a > 0) & ~(a == 1),
    "sum": lambda a: a.sum(),
    "sum of rows": lambda a: a.sum(0),
    "mean": lambda a: a.mean(axis=1, keepdims=True),
    "extremes": lambda a: a.max() - np.min(a, axis=0),
    "spread": lambda a: a.std() + np.var(a, axis=0, ddof=1),
    "places": lambda a: a.argmax() + np.argmin(a, axis=1),
    "running": lambda a: np.cumsum(a, axis=0),
    "running product": lambda a: np.cumprod(a, axis=1),
    "product": lambda a: a.prod(),
    "truths": lambda a: np.all(a, axis=0) | a.any(),
    "norm": lambda a: a / np.linalg.norm(a, axis=1, keepdims=True),
    "reduce": np.add.reduce,
    "reshape": lambda a: np.reshape(a, (2, -1)).ravel(),
    "transposed": lambda a: a.T * 2,
    "dimensions": lambda a: np.squeeze(np.expand_dims(a, 1), 1).swapaxes(0, 1),
    "slices": lambda a: a[1:, ::2],
    "elements": lambda a: a[0, 1] * a[-1],
    "masked": lambda a: a[a > 0],
    "columns": lambda a: a[:, [0, 2]],
    "columns of three": lambda a: a.reshape(-1, 2, 2)[..., np.array([[1, 0], [0, 1]])],
    "where": lambda a: np.where(a > 0, 1.0, a),
    "nonzero": lambda a: np.nonzero(a)[1],
    "concatenate": lambda a: np.concatenate([a, a * 2.0]),
    "stack": lambda a: np.stack([a, a], 1),
    "piled": lambda a: np.hstack([np.vstack([a, a]), np.vstack([a, a])]),
    "clip": lambda a: a.clip(-1, 1),
    "rounded": np.round,
    "sorted": lambda a: np.sort(a, axis=0),
    "order": lambda a: np.argsort(a, axis=0, kind="stable"),
    "matrices": lambda a: a @ a.T + np.dot(a, a[0])[0],
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "outer": lambda a: np.outer(a[0], a[1]),
    "trace": np.trace,
    "like": lambda a: np.zeros_like(a) + np.full_like(a, 3),
    "cast": lambda a: a.astype(np.float64) + a.astype("int32"),
    "constructed": lambda a: np.asarray(a, dtype=np.float32) + np.array([a[0], a[1]])[0],
    "repeated": lambda a: np.repeat(np.tile(a, (2, 1)), 2, axis=0),
    "rolled": lambda a: np.roll(a, 1, axis=0),
    "signs": lambda a: abs(-a) + np.sign(a),
    "maximum": lambda a: np.maximum(a, 0),
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape) + a,
    "sizes": lambda a: a / a.shape[0] + a.ndim + a.size + len(a.shape),
    "augmented": _augmented,
    "assigned": _assigned,
    "functions": lambda a: np.log1p(np.sqrt(np.abs(a))) + np.arctan2(a, 2),
    "softmax": _softmax,
    "not a number": lambda a: np.nan_to_num(a / 0),
    "asked": lambda a: a * isinstance(a, np.ndarray) * isinstance(a.sum(), np.generic),
    "dtype": lambda a: a if a.dtype == np.float32 else a * 2,
    "copied": lambda a: copy.deepcopy(a) * 2,
}
DTYPES = (torch.float32, torch.int64, torch.bool, torch.float64, torch.int32, torch.uint8)


def _matrix(n, dtype):
    if dtype.is_floating_point:
        return (torch.randn(n, 4) * 3).to(dtype)
    low = 0 if dtype in {torch.bool, torch.uint8} else -4
    return torch.randint(low, 2 if dtype == torch.bool else 5, (n, 4)).to(dtype)


def _as_tensor(result):
    return torch.from_numpy(result) if isinstance(result, np.ndarray) else torch.tensor(result)


@pytest.mark.filterwarnings("ignore:.*encountered in")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_what_numpy_gives_at_other_sizes(name):
    """Values, dtypes and strides, of three sizes, in plain and strict capture by turns."""
    function = FUNCTIONS[name]
    module = Of(lambda x: _as_tensor(function(x.numpy())))
    n_compared = 0
    for dtype, strict in zip(DTYPES, cycle((False, True))):
        given = [_matrix(n, dtype) for n in (4, 6, 2)]
        try:
            expected = [module(each) for each in given]
        except (TypeError, OverflowError):  # as NumPy has it for this dtype
            continue
        try:
            program = export(module, (given[0],), dynamic_shapes=({0: Dim.AUTO},), strict=strict)
        except DataDependentError:
            assert not dtype.is_floating_point or name == "dtype"
            continue
        n_compared += 1
        call = program.module()
        for x, wanted in zip(given, expected, strict=True):
            found = call(x)
            torch.testing.assert_close(found, wanted, equal_nan=True, rtol=1e-5, atol=1e-5)
            assert found.stride() == wanted.stride()
    assert n_compared >= 2


SPECIAL = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e30])
BYTES = torch.tensor([0, 1, -1, 5, -7, 100, -128, 127]).to(torch.int8)


class OfTwo(torch.nn.Module):
    """A ufunc of arrays."""

    def __init__(self, ufunc):
        super().__init__()
        self.ufunc = ufunc

    def forward(self, *tensors):
        arrays = [each.numpy() for each in tensors]
        return torch.from_numpy(self.ufunc(*arrays[: self.ufunc.nin]))


@pytest.mark.filterwarnings("ignore:.*encountered in")
@pytest.mark.parametrize("ufunc", [each for each in UFUNCS if each is not np.matmul])
def test_ufuncs_of_what_is_no_number_or_without_end(ufunc):
    """All pairs of floats, of bytes with signs, and of truths."""
    module, n_compared = OfTwo(ufunc), 0
    for values in (SPECIAL, BYTES, torch.tensor([True, False])):
        given = (values[:, None], values[None])
        try:
            expected = module(*given)
            program = export(module, tuple(torch.ones_like(each) for each in given))
        except (TypeError, ValueError, DataDependentError):  # NumPy's error, or by the values
            continue
        n_compared += 1
        found = program.module()(*given)
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-5, atol=1e-7)
    assert n_compared


def _written(x):
    a = x.numpy()
    a[:, 0] = 0
    a += 1
    a[a > 1] = 0.5
    return x.sum(), torch.from_numpy(a)


def _aliased(x):
    y = x * 2
    array = y.numpy()
    torch.from_numpy(array).add_(1)
    return y, array.T.copy()[0].sum().item()


def _branching(x):
    if x.numpy().mean() > 0:
        return x * 2
    return x - math.sqrt(abs(float(x.numpy().sum())))


def _merged(x):
    a = x.numpy().copy()
    if x.sum() > 0:
        a[0] = 0
    else:
        a = a * 2
    return torch.from_numpy(a)


def _filled(x):
    out = np.zeros_like(x.numpy())
    for i in range(x.shape[0]):
        out[i] = x[i].numpy() * i
    return torch.from_numpy(out)


PROGRAMS = (
    _written,
    _aliased,
    _merged,
    _filled,
    lambda x: x + x.numpy(),
    lambda x: x * x.numpy().mean(),
    lambda x: x[x.numpy()[:, 0] > 0],
    lambda x: x[x.numpy().argmax(0)],
    lambda x: torch.tensor([x.numpy().sum(), x.numpy().max()]),
    lambda x: x.numpy().max() * x - (x.numpy().sum() < x).float(),
    lambda x: torch.from_numpy(x.numpy()[(x.numpy()[:, 0] > 0).astype(np.uint8)]),
    lambda x: torch.as_tensor(np.add(x.numpy(), 1, out=x.numpy())),
)
INTERPRETED = (_branching, lambda x: np.sin(x) + 1, lambda x: np.greater(x, 0))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("at", range(len(PROGRAMS) + len(INTERPRETED)))
def test_arrays_share_memory_with_tensors(at, strict):
    """Writes, aliases, scalars and conditions; what the call writes to its input, too."""
    if not strict and at >= len(PROGRAMS):
        pytest.skip("interpreted code alone shows ufuncs of tensors, and conditions on arrays")
    module = Of((*PROGRAMS, *INTERPRETED)[at])
    program = export(module, (torch.randn(3, 4),), dynamic_shapes=({0: Dim.AUTO},), strict=strict)
    for call in (program.module(), program.run_decompositions().module()):
        for x in (torch.randn(7, 4), torch.ones(2, 4), -torch.ones(5, 4)):
            given, mine = x.clone(), x.clone()
            torch.testing.assert_close(call(mine), module(given), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(mine, given)


@pytest.mark.parametrize(
    "function",
    [
        np.median,
        lambda a: np.fft.rfft(a).real,
        lambda a: np.sum(a, where=a > 0),
        lambda a: np.concatenate([a.T, a.T]),
        lambda a: a.view(np.int32),
        lambda a: np.frombuffer(a.tobytes(), np.float32),
        lambda a: a[::-1],
        lambda a: divmod(a, 2)[0],
        lambda a: divmod(2, a)[0],
        lambda a: np.array([a[0, 0], 1.0], dtype="U8"),
        lambda a: a.astype(int) // a.astype(int),
    ],
)
def test_what_has_no_operator_reads_values(function):
    """Functions and options that are in no table."""
    module = Of(lambda x: _as_tensor(function(x.numpy())))
    with pytest.raises(MonographError, match="value-read"):
        export(module, (torch.randn(4, 4),))


def test_a_parameter_is_asked_for_its_array_as_eager_has_it():
    """Autograd follows it."""
    layer = torch.nn.Linear(4, 4)
    layer.forward = lambda x: x + torch.from_numpy(layer.weight.numpy())
    with pytest.raises(RuntimeError, match="requires grad"):
        export(layer, (torch.randn(4, 4),))


VIEWS = {
    "ravel": lambda a: a.ravel(),
    "ravel of columns": lambda a: a[:, ::2].ravel(),
    "ravel of a column": lambda a: a[:, 0].ravel(),
    "ravel of one column": lambda a: a[:, :1].ravel(),
    "ravel of rows": lambda a: np.ravel(a[1:]),
    "ravel of one row": lambda a: a[:1].ravel(),
    "ravel of the transposed": lambda a: a.T.ravel(),
    "ravel of a scalar": lambda a: np.ravel(a[0, 0]),
    "reshape": lambda a: a.reshape(-1),
    "reshape of columns": lambda a: a[:, ::2].reshape(-1),
    "reshape of one column": lambda a: a[:, :1].reshape(-1),
    "reshape of the transposed": lambda a: a.T.reshape(-1),
    "reshape of a scalar": lambda a: np.reshape(a[0, 0], -1),
    "flatten": lambda a: a.flatten(),
    "copy": lambda a: a.T.copy(),
    "np.copy": lambda a: np.copy(a.T),
    "contiguous": np.ascontiguousarray,
    "contiguous row": lambda a: np.ascontiguousarray(a[:1]),
    "contiguous column": lambda a: np.ascontiguousarray(a[:, :1]),
    "contiguous transposed": lambda a: np.ascontiguousarray(a.T),
    "contiguous scalar": lambda a: np.ascontiguousarray(a[0, 0]),
    "squeezed": lambda a: a[:1].squeeze(0),
    "swapped": lambda a: a.swapaxes(0, 1),
    "swapped and raveled": lambda a: np.swapaxes(a, 0, 1).ravel(),
    "array": np.array,
    "array if needed": lambda a: np.array(a, copy=None),
    "array of another dtype": lambda a: np.asarray(a, dtype=np.float32),
    "array of its own dtype": lambda a: np.asarray(a, dtype=np.float64),
    "cast": lambda a: a.astype(np.float64),
    "cast if needed": lambda a: a.astype(a.dtype, copy=False),
    "tiled once": lambda a: np.tile(a, (1, 1, 1)),
    "tiled": lambda a: np.tile(a.T, (2, 1)),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_views_and_copies_are_those_of_numpy(name, strict):
    """What is written afterwards shows, or does not, at all sizes and layouts."""

    def written(x):
        a = x.clone().numpy()
        b = VIEWS[name](a)
        a[:1] = 7
        b[:1] = 3
        return torch.from_numpy(a), torch.from_numpy(b)

    example = torch.arange(12.0, dtype=torch.float64).view(3, 4)
    fixed = export(Of(written), (example,), strict=strict).module()
    program = export(
        Of(written), (example,), dynamic_shapes=((Dim.AUTO,) * 2,), strict=strict
    ).module()
    for form, sizes in ((fixed, [(3, 4)]), (program, [(3, 4), (1, 4), (3, 1), (1, 1), (5, 2)])):
        for rows, columns in sizes:
            data = torch.randn(rows, columns, dtype=torch.float64)
            for x in (data, torch.randn(columns, rows, dtype=torch.float64).T):
                try:
                    found = form(x)
                except MonographError:
                    assert (rows, columns) != (3, 4) or x is not data
                    continue
                assert all(map(torch.equal, found, written(x)))
                assert [y.shape for y in found] == [y.shape for y in written(x)]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("shape", [(4, 1), (1, 3), (1, 4, 1), (2, 1, 3), (4, 3)])
def test_a_result_lies_by_rows_where_its_operand_does(shape, strict):
    """Dimensions of one element have no order of their own in NumPy."""

    class Adds(torch.nn.Module):
        def forward(self, x):
            made = (x.numpy().T + 1, -x.numpy().T, x.numpy().T > 0)
            tensors = [torch.from_numpy(each) for each in made]
            return tensors, [each.stride() for each in tensors]

    x = torch.randn(shape)
    program = export(Adds(), (x,), strict=strict).module()
    found, strides = program(x)
    wanted, known = Adds()(x)
    assert strides == known == [each.stride() for each in found]
    assert all(map(torch.equal, found, wanted))


def _shifted(a):
    a[:, 1:] = a[:, :-1]
    a[1:] = a[:-1]


def _by_views(a):
    a.real[1:] = a[:-1]
    a.T[1:] = a.T[:-1]
    a.ravel()[1:] = a.ravel()[:-1]


def _by_places(a):
    a[[1, 2]] = a[:2]
    a[a > 0] = a[a > 0] * 2


def _by_out(a):
    np.conjugate(a[:, :-1], out=a[:, 1:])
    np.add(a[:-1], 1, out=a[1:])
    a[1:] += a[:-1]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("write", [_shifted, _by_views, _by_places, _by_out])
def test_what_is_read_of_the_memory_that_is_written_to_is_read_before(write, strict):
    """NumPy copies where `Tensor.copy_` does not, or refuses to."""

    def forward(x):
        write(x.numpy())
        return x * 1

    example = torch.tensor([[3.0, 1, 2], [6, 5, 4], [9, 8, 7], [1, 2, 3]])
    for sizes in (None, ({0: Dim.AUTO},)):
        program = export(Of(forward), (example.clone(),), dynamic_shapes=sizes, strict=strict)
        for call in (program.module(), program.run_decompositions().module()):
            for x in (example, -example, example.flip(0)):
                given, mine = x.clone(), x.clone()
                assert torch.equal(call(mine), forward(given))
                assert torch.equal(mine, given)


def _with_masks(a):
    a = a > 1
    a[1:][a[:-1]] = False
    return a


def _of_rows(a):
    a[1:] = [a[0], a[1], a[2]]
    return a


def _shuffled(a):
    np.random.default_rng(0).shuffle(a)
    return a


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [_with_masks, _of_rows, _shuffled])
def test_what_numpy_reads_as_it_writes_is_refused(function, strict):
    """Masks in the memory that is written to, lists of views, rows that C swaps."""
    module = Of(lambda x: _as_tensor(function(x.numpy())))
    with pytest.raises(MonographError, match=r"value-read|outside-read"):
        export(module, (torch.randn(4, 4),), strict=strict)


FLAT = {
    "sort": lambda a: np.sort(a, axis=None),
    "concatenate": lambda a: np.concatenate([a, a], axis=None),
    "argsort": lambda a: np.argsort(a, axis=None, kind="stable"),
    "items": lambda a: a * a.item(1) + a.item(-1),
    "itself": lambda a: a * (2 if np.asarray(a) is a and np.array(a, copy=None) is a else 3),
    "squeezed itself": lambda a: a * (2 if a.squeeze() is a and a.conj() is a else 3),
    "contiguous itself": lambda a: a * (2 if np.ascontiguousarray(a) is a else 3),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", FLAT)
def test_axis_none_flattens_and_what_is_an_array_already_is_given_back(name, strict):
    """What an option that is None says, and whether a result is a new object."""

    def forward(x):
        return torch.from_numpy(FLAT[name](x.numpy()))

    program = export(Of(forward), (torch.randn(4, 3),), strict=strict).module()
    x = torch.randn(4, 3)
    assert torch.equal(program(x), forward(x))
    with pytest.raises(MonographError, match="value-read"):
        export(Of(lambda x: x * len(x.numpy().__array_interface__)), (x,), strict=strict)


class ReadsItsParameter(torch.nn.Module):
    """NumPy is given a parameter, which PyTorch refuses where gradients are recorded."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        try:
            weight = torch.from_numpy(self.weight.numpy())
        except RuntimeError:
            return x * 3
        return x * weight


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
def test_whether_gradients_are_recorded_decides_if_numpy_takes_a_parameter(recorded, strict):
    """It is as in the mode of the export; the contract refuses the other one."""
    module, x = ReadsItsParameter(), torch.ones(3)
    with torch.set_grad_enabled(recorded):
        program = export(module, (x,), strict=strict).module()
        assert torch.equal(program(x), module(x))
    with torch.set_grad_enabled(not recorded), pytest.raises(ContractError):
        program(x)


@pytest.mark.parametrize("strict", [False, True])
def test_numpy_takes_a_parameter_without_gradients(strict):
    """The forward turns them off, so no call is refused."""

    class Turns(ReadsItsParameter):
        def forward(self, x):
            with torch.no_grad():
                return x * torch.from_numpy(self.weight.numpy())

    program = export(Turns(), (torch.ones(3),), strict=strict).module()
    assert torch.equal(program(torch.ones(3)), torch.full((3,), 2.0))
    with torch.no_grad():
        assert torch.equal(program(torch.ones(3)), torch.full((3,), 2.0))


class CountsRows(torch.nn.Module):
    """Asks each element of an array, and may go on with the next."""

    def __init__(self, *, cuts):
        super().__init__()
        self.cuts = cuts

    def forward(self, x):
        n, parts = 0, [x]
        for k in (x > 0).sum(0).numpy():
            if k == 0:
                continue
            n = n + 1
            if self.cuts:
                parts.append(x[:k])
        return torch.cat(parts) * n


@pytest.mark.parametrize("strict", [False, True])
def test_a_loop_over_an_array_takes_other_ways(strict):
    """Its iterator is where it is on both ways."""
    program = export(CountsRows(cuts=False), (torch.ones(3, 2),), strict=strict).module()
    for x in (torch.ones(3, 2), -torch.ones(3, 2), torch.tensor([[1.0, -2.0]] * 3)):
        assert torch.equal(program(x), CountsRows(cuts=False)(x))


@pytest.mark.parametrize("strict", [False, True])
def test_a_draft_goes_the_way_of_the_example_at_a_number_of_an_array(strict):
    """It says so, and gives what the module gives."""
    module, x = CountsRows(cuts=True), torch.tensor([[1.0, 2.0], [3.0, -1.0], [-1.0, -2.0]])
    program = draft_export(module, (x,), strict=strict)
    assert program.report.problems
    assert torch.equal(program.module()(x), module(x))


def table(x):
    """Sinusoids, as published models make them."""
    t = np.arange(x.shape[0])[:, None] / np.power(10000, np.arange(4) / 4)
    t[:, 0::2], t[:, 1::2] = np.sin(t[:, 0::2]), np.cos(t[:, 1::2])
    return x + torch.tensor(t, dtype=torch.float32)


def kernel(x):
    """An identity, one element after the other."""
    k = np.zeros((4, 4), dtype=np.float32)
    for i in range(4):
        k[i, i] = 2
    return x @ torch.from_numpy(k)


def part(x):
    """Written through a view of what another view shows."""
    k = np.arange(8.0).reshape(2, 4)
    rows = k[1:]
    rows += 1
    np.multiply(k, 2, out=k)
    return x * float(k.sum())


OUTSIDE = np.zeros(6)
SEEN = OUTSIDE[1:]


def written_outside(x):
    """A view of a view of an array from outside."""
    rows = SEEN[1:].reshape(2, 2)
    rows += 1
    return x * 2


def held_twice(x):
    """C comes to the same view of what others hold by two ways."""
    np.sin(SEEN)
    np.cos(SEEN)
    base = SEEN.base
    base[0] += 1
    return x * 2


def written_by_its_base(x):
    """The owner of the memory that a global shows."""
    base = SEEN.base
    base += 1
    return x * 2


def kept_outside(x):
    """A new array, which others hold afterwards."""
    k = np.ones(4)
    HELD.append(k[1:])
    k += 1
    return x * 2


HELD: list = []


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [table, kernel, part])
def test_an_array_that_forward_makes_may_be_written_to(function, strict):
    """Views of it refer to it, and tensors in its memory: nobody else does."""
    x = torch.randn(3, 4)
    program = export(Of(function), (torch.ones(3, 4),), strict=strict).module()
    assert torch.equal(program(x), function(x))


@pytest.mark.parametrize(
    "function", [written_outside, held_twice, written_by_its_base, kept_outside]
)
def test_an_array_from_outside_may_not(function):
    """By whatever view, and it is as it was."""
    with pytest.raises(MonographError, match="write-outlives-call"):
        export(Of(function), (torch.ones(3, 4),), strict=True)
    assert not OUTSIDE.any()
    assert not HELD
