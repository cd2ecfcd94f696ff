"""Sizes that vary: one graph for many, decisions on them as guards, 0 and 1 as any other."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bench.models import GPT
from monograph.jit import mark_dynamic, optimize
from tests.jit.running import plain, quiet

PROGRAMS = {}


def program(function):
    """One of a matrix of any sizes."""
    PROGRAMS[function.__name__] = function
    return function


@program
def unpacked(x):
    rows, columns = x.shape
    return x.view(rows * columns), torch.arange(columns) * rows, x.reshape(1, rows, -1)


@program
def asked_one_by_one(x):
    return x * x.shape[0] + x.size(1), torch.zeros(x.size(-1) + 1, x.shape[-2])


@program
def returned(x):
    n, m = x.shape
    return n, m, (n + 1, (m, n * m)), x.sum() * n


@program
def branches(x):
    n, m = x.shape
    if n > 3:
        x = x * 2
    if n == m:
        return x.t()
    if m * n != 6:
        x = x + n
    return x if m else x.sum()


@program
def loops(x):
    total = x
    for i in range(x.shape[0]):
        total = total + i
    while total.shape[1] > 3:
        total = total[:, 1:]
    return total


@program
def slices(x):
    n, m = x.shape
    half = n // 2
    return x[:half], x[half:, : m - 1], x[-1:], x[:, m // 2 :: 2]


@program
def derived(x):
    y = torch.cat([x, x, x])
    n, m = y.shape
    z = y.view(3, n // 3, m)
    if n > 9:
        z = z.sum(0)
    return z, n % 2, z.shape[0] * 2


@program
def texts(x):
    n, m = x.shape
    return f"{n} by {m}", str(n), [n, m], {"n": n}, {n: m}, n / (m + 1), float(m), -n, n**2


@program
def kept_in_lists(x):
    n, m = x.shape
    kept = [n]
    kept.append(m)
    pair = (n, m)
    first, *rest = pair
    return x.new_ones(kept), rest, first, max(pair), sum(kept), pair == (2, 3), n in pair


@program
def closures(x):
    n, m = x.shape

    def inner(k):
        return x.reshape(m, n) * k

    return inner(n), [each * n for each in (x, x + 1)], tuple(x * m for _ in range(2))


def by_name(x, n, *, m=1):
    return x.reshape(-1) * n + m


@program
def passed_on(x):
    n, m = x.shape
    args = (n,)
    return by_name(x, n), by_name(x, n=m), by_name(x, *args, m=n), by_name(x, m, m=m)


@program
def generators(x):
    def rows():
        n, m = x.shape
        for i in range(n):
            yield x[i] * m, n

    def sizes(n):
        yield n
        yield n + 1

    return list(rows()), list(sizes(x.shape[0]))


@program
def exceptions(x):
    n, m = x.shape
    try:
        y = x.view(n // 2, 2, m)
    except RuntimeError:
        y = x
    try:
        k = n // m
    except ZeroDivisionError as error:
        k = str(error)
    if n == 6:
        raise ValueError(n, m)
    return y, k


@program
def breaks(x):
    n, m = x.shape
    y = x * n
    print("sizes", n, m)
    y = y + m
    import time

    time.monotonic()
    return y.reshape(m, n), n * m, [n]


@program
def in_generators_and_cells(x):
    n, m = x.shape
    rows = m
    kept = []

    def inner(k):
        nonlocal rows
        rows = rows + n
        kept.append(lambda: k)
        return x.reshape(m, n) * k

    parts = tuple(part.reshape(m, n) * rows for part in (x, x + 1))
    return inner(n), parts, kept[0](), type(kept[0]()), sum(k + n for k in [m])


@program
def parts_of_views(x):
    n, m = x.shape
    q, k = (part.view(n, 1, m) for part in (x * 2).split(m, dim=1)[:1] * 2)
    return q + k


@program
def asked_of_inputs(x):
    y = x if x.dim() == 2 and x.is_floating_point() else x.float()
    return y + torch.arange(x.shape[1], device=x.device, dtype=x.dtype), y.ndim, (x * 2).dim()


@program
def left_in_a_generator(x):
    n, m = x.shape

    def sizes():
        k = n * m
        yield x * k
        yield k

    found = sizes()
    first = next(found)
    print(n)
    return first, next(found), type(next(iter((n,))))


class Box:
    last = 0


@program
def attributes(x):
    n, m = x.shape
    Box.last = n
    box = Box()
    box.size = m
    return (
        x * box.size + Box.last,
        type(n),
        type(box.size),
        n is box,
        isinstance(n, int),
        n.bit_length(),
    )


class Rows:
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, key):
        return key

    def __index__(self):
        return self.x.shape[1]

    @property
    def size(self):
        return self.x.size(0)


@program
def special_methods(x):
    rows = Rows(x)
    n, m = x.shape
    return len(rows), rows[n], rows.size * m, sorted([n, m], key=lambda k: -k), bool(rows)


@program
def functions(x):
    n, m = x.shape
    y = F.pad(x, (1, m)) if n else x
    return (
        y,
        torch.full((n, m), n),
        math.sqrt(n),
        F.layer_norm(x, (m,)) if m else x,
        torch.Size((n, m)),
    )


@program
def writes(x):
    n, m = x.shape
    y = x.clone()
    y += n
    y[: n // 2] = m
    return y


@program
def draws(x):
    n, m = x.shape
    y = F.dropout(x, 0.5, True)
    return y, torch.randn(n, m) if n > 2 else y


@program
def conditions(x):
    n, m = x.shape
    ok = n and m
    return x * 2 if ok else x, not n, n or m, min(m, n), 1 < n < 5, bool(m)


@program
def other_layouts(x):
    y = x.t()
    n, m = y.shape
    z = y.contiguous()
    return z is y, z.view(n * m), z.is_contiguous(), y.stride()


SIZES = list(itertools.product((3, 2, 0, 1, 6), (4, 3, 1, 0, 6)))


def run(wrap, name):
    """What a program gives over all sizes."""
    torch.manual_seed(1)
    function, seen = wrap(PROGRAMS[name]), []
    for n, m in SIZES:
        x = torch.arange(n * m, dtype=torch.float32).reshape(n, m)
        try:
            seen.append(plain(function(x)))
        except Exception as error:
            seen.append(plain(error))
        seen.append(torch.rand(()).item())
    return seen


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_eager_code(name, dynamic):
    """Results, types and errors are those of eager code at every size."""
    expected = run(lambda each: each, name)
    found = quiet(run, optimize(dynamic=dynamic, cache_size_limit=64), name)
    assert str(found) == str(expected)


FEW = [
    *("unpacked", "asked_one_by_one", "returned", "slices", "asked_of_inputs", "parts_of_views"),
]


@pytest.mark.parametrize("name", FEW)
def test_few_graphs(name):
    """One for the first sizes, one for all others, one from the start, as many as there are."""
    for dynamic, most in ((None, 2), (True, 1)):
        optimizer = optimize(dynamic=dynamic, cache_size_limit=64)
        quiet(run, optimizer, name)
        assert len(optimizer.entries) <= most
    optimizer = optimize(dynamic=False, cache_size_limit=64)
    quiet(run, optimizer, name)
    assert len(optimizer.entries) > 15


def test_what_escapes_is_plain():
    """Functions and generators that outlive a call hold numbers as eager code has them."""
    kept = []

    def f(x):
        n, m = x.shape

        def rows():
            k = n + m
            yield x * k
            yield k

        found = rows()
        kept.append((lambda: n, found))
        return x.reshape(m, n), next(found)

    fast = optimize()(f)
    for n, m in ((2, 3), (4, 5), (6, 1)):
        fast(torch.ones(n, m))
        size, rest = kept.pop()
        assert type(size()) is int
        assert size() == n
        value = next(rest)
        assert type(value) is int
        assert value == n + m


def test_a_module():
    """A layer is recorded twice at most, whatever is given to it."""

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(8, 24)

        def forward(self, x):
            batch, seq, width = x.shape
            q, k, v = self.line(x).split(width, dim=2)
            q = q.view(batch, seq, 2, width // 2).transpose(1, 2)
            k = k.view(batch, seq, 2, width // 2).transpose(1, 2)
            v = v.view(batch, seq, 2, width // 2).transpose(1, 2)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return mixed.transpose(1, 2).reshape(batch, seq, width)

    net = Heads()
    optimizer = optimize()
    fast = optimizer(net)
    for batch, seq in ((2, 5), (3, 5), (1, 1), (0, 4), (5, 9), (2, 5)):
        x = torch.randn(batch, seq, 8)
        assert torch.equal(fast(x), net(x))
    assert len(optimizer.entries) == 2


@pytest.mark.parametrize(
    ("module", "sizes"),
    [
        (GPT(n_layers=2).eval(), [(2, 16), (3, 16), (2, 9), (1, 5), (4, 4), (5, 11)]),
        (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0), None),
    ],
)
def test_two_graphs_for_six_sizes(module, sizes):
    """Sizes in generator expressions and in closures, the device asked of an input, ranks."""
    optimizer = optimize()
    fast = optimizer(module)
    for size in sizes or [(2, 8, 32), (3, 8, 32), (2, 9, 32), (1, 5, 32), (4, 4, 32), (5, 11, 32)]:
        x = torch.randint(0, 64, size) if sizes else torch.randn(size)
        assert torch.equal(fast(x), module(x))
    assert len(optimizer.entries) == 2


NUMBERS = {}


def of_numbers(function):
    """A program of a matrix and two numbers."""
    NUMBERS[function.__name__] = function
    return function


@of_numbers
def scaled(x, n, m):
    return x * n + m, x.sum() - n


@of_numbers
def counted_on(x, n, m):
    y = x[:n] if n > 1 else x
    return y * (n + m), n * 2, (n, m), y.shape[0]


@of_numbers
def spread_out(x, n, m):
    y = x.new_full((n, m), n - m) if n >= 0 <= m else x
    print(n, type(m))
    y = y + n
    return y.sum(n % 2), f"{n}", range(abs(n)), y.shape


@of_numbers
def written_to(x, n, m):
    y = x[: abs(n)].clone()
    y += m
    return y, y.shape, y.numel() > 4


@of_numbers
def in_functions(x, n, m):
    def inner(k, by=m):
        return x * k * by + n

    return inner(n), inner(m, n), [each + n for each in (x, m)], n is m


@of_numbers
def with_fractions(x, n, m):
    half = n / 2
    if half > 1:
        x = x * half
    kept = [half]
    y = x + x.shape[0] / (m + 7.5)
    return y * -n, half, n == m, f"{n} {half:.2f}", n * 0, y.sum() > half, kept, type(n), (n, half)


@of_numbers
def divided(x, n, m):
    try:
        return x * (n / m), n // 2, n % 3, n - m
    except ZeroDivisionError as error:
        return str(error)


NUMBER_PAIRS = ((2, 3), (3, 2), (4, 2), (0, 1), (1, 1), (-2, 5), (True, 2), (3, False))


@of_numbers
def returned_alone(x, n, m):
    del x
    return (n // (m - 2), n * m, n - m) if m != 1 else n % m


FLOATS = (
    *((2.0, 3), (2.5, 3), (3.5, 0.0), (-0.0, 1), (0.0, -1.5), (float("inf"), 2), (1e300, 1e-9)),
    *((float("nan"), 1.5), (2.5, 1 << 600), (1 << 600, 2.0), (7.25, 2), (float("nan"), 1.5)),
)


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_as_in_eager_code(name, dynamic):
    """Numbers that functions are given vary, too; a boolean is no number."""
    function = NUMBERS[name]
    fast = optimize(dynamic=dynamic, cache_size_limit=64)(function)
    x = torch.arange(12.0).view(4, 3)
    for n, m in (*NUMBER_PAIRS, *FLOATS):
        found = []
        for each in (function, fast):
            try:
                found.append(str(plain(each(x.clone(), n, m))))
            except Exception as error:
                found.append((type(error), str(error).partition("\n")[0]))
        assert found[0] == found[1], (n, m)


def test_numbers_are_inputs_from_the_second_compilation_on():
    """A loop's counter is no reason to compile again."""
    optimizer = optimize()
    fast = optimizer(lambda x, n: x * n)
    for n in range(9):
        assert torch.equal(fast(torch.ones(2), n), torch.ones(2) * n)
    assert len(optimizer.entries) == 2


def flattened(x, scale=1):
    """Sizes in arithmetic, and a decision on one."""
    n, m = x.shape
    y = x.reshape(n * m) * scale
    return y[: n + 1] if n > 1 else y + m


def marked(x, *dims):
    """A copy with marks."""
    made = x.clone()
    mark_dynamic(made, dims)
    return made


@pytest.mark.parametrize("give", [lambda f, x: f(x), lambda f, x: f([{"x": (x,)}])])
def test_marked_sizes_are_values_from_the_first_compilation_on(give):
    """The first graph serves other sizes; nothing else is declared by a mark."""

    def f(given):
        x = given if isinstance(given, torch.Tensor) else given[0]["x"][0]
        return flattened(x)

    some = [torch.arange(2.0 * n).view(n, 2) for n in (3, 4, 7, 2)]
    optimizer = optimize()
    g = optimizer(f)
    for index, x in enumerate(some):
        assert plain(give(g, x if index else marked(x, 0))) == plain(give(f, x))
    assert len(optimizer.entries) == 1


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_marks_and_what_optimize_says(dynamic):
    """`dynamic=True` needs no marks; with False, none are heeded."""
    optimizer = optimize(dynamic=dynamic)
    f = optimizer(flattened)
    for n in (3, 4, 7, 2):
        x = torch.arange(2.0 * n).view(n, 2)
        given = marked(x, -2) if n == 3 and dynamic is not True else x
        assert plain(f(given)) == plain(flattened(x))
    assert len(optimizer.entries) == (4 if dynamic is False else 1)


def test_marks_of_no_dimension():
    """They are refused."""
    with pytest.raises(IndexError, match="dimension 2 of a tensor with 2 dimensions"):
        mark_dynamic(torch.ones(2, 3), [0, 2])


def asked_aside(x):
    """Its device, its size, and casts, of tensors that the graph makes."""
    y = (x * 2).type(torch.float64)
    z = torch.zeros_like(y)
    z[:, 0] = 1
    n = y.shape[0] + x.shape[0]
    return y.to(z.device) + z, n, y.requires_grad, x.type(x.dtype) is x


def test_what_is_asked_aside_ties_no_sizes():
    """Two graphs for four sizes: the second one serves all."""
    optimizer = optimize()
    f = optimizer(asked_aside)
    for n in (3, 4, 7, 2):
        x = torch.arange(2.0 * n).view(n, 2)
        assert plain(f(x)) == plain(asked_aside(x))
    assert [len(optimizer.entries), sum(len(table.breaks) for table in optimizer.tables)] == [2, 0]
