"""Rows `size` and `data`: every operator of Python's numbers, on sizes and on numbers out of data.

A program agrees with plain Python, fixes the number with a guard, or is refused by name.
"""

import bisect
import copy
import decimal
import enum
import fractions
import functools
import itertools
import json
import math
import numbers
import operator
import statistics
import struct
import threading

import numpy as np
import torch
from torch import nn

from tests.contract.registry import probe
from tests.contract.structures import v
from tests.contract.tensor_types import m


def rows(n):
    """How to make a matrix of so many rows."""
    return lambda: (m(n, 3),)


TABLE = np.array([1.5, 2.5, 3.5])


class Kind(enum.IntEnum):
    """Names of numbers."""

    WIDE = 2


SIZES = {f"{n} rows": rows(n) for n in (0, 1, 2, 3, 7, 8)}


def number(*values):
    """How to make a vector and whole numbers in a tensor."""
    return lambda: (v(6), torch.tensor(values))


def real(*values):
    """How to make a vector and floats in a tensor."""
    return lambda: (v(6), torch.tensor(values, dtype=torch.float64))


WHOLE = {f"{a} and {b}": number(a, b) for a, b in ((5, 2), (0, 1), (-7, 3), (4, -3), (1, 0))}
FLOATS = {f"{a} and {b}": real(a, b) for a, b in ((0.5, 2.0), (-1.5, 3.0), (0.0, -0.0), (7.0, 1e9))}

REFUSED = (
    "capture-failed",
    "data-dependent-branch",
    "recursion-on-data",
    "computed-in-thread",
    "data-dependent-size",
    "outside-read",
    "specialized-value",
    "value-read",
)


def any_rows(dim):
    """The number of rows varies, unless something fixes it."""
    return {"x": {0: dim.AUTO}}


def on_sizes(function):
    """Any number of rows, each agreeing, or refused by the contract where the size was fixed."""
    return probe("assumption", rows(4), calls=SIZES, shapes=lambda dim: {"x": {0: dim.AUTO}})(
        function
    )


def exact(function):
    """Any number of rows, each agreeing: nothing is fixed."""
    return probe(
        "assumption", rows(4), agrees=SIZES, shapes=lambda dim: {"x": {0: dim("rows", min=0)}}
    )(function)


# --- operators of whole numbers ----------------------------------------------------------------


@exact
def bits_in_common(x):
    """`&` and `^` beside a plain number on either side."""
    n = x.shape[0]
    return x * (n & 6), x + (9 ^ n), x - (n | 3), (n ^ 2) & 12


@exact
def complement_of_a_size(x):
    """`~n`, twice, in an index, and in a subtraction."""
    n = x.shape[0]
    return x * ~n, x.new_zeros(~~n), (~n) % 5


@exact
def masks_in_a_loop_of_flags(x):
    """Each bit is looked at."""
    n = x.shape[0]
    return [((n >> k) & 1) * x for k in range(4)]


@on_sizes
def two_to_the_size(x):
    """An exponent that varies, its reflected shift, and one in place."""
    n, total = x.shape[0], 3
    total **= n
    return x * (2**n) + (1 << n), total


@on_sizes
def remainder_of_a_power(x):
    """`pow` of three, with the size in each place."""
    n = x.shape[0]
    return pow(n, 3, 5), x + pow(n, 2, n + 1)


@exact
def hours_minutes_seconds(x):
    """`divmod` of a `divmod`, and of floats."""
    minutes, seconds = divmod(x.shape[0] * 37, 60)
    hours, minutes = divmod(minutes, 60)
    return x * hours + minutes - seconds, divmod(x.shape[0] / 4, 0.75)


@on_sizes
def divmod_by_a_size(x):
    """Raises where there are no rows."""
    quotient, rest = divmod(-17, x.shape[0])
    return x * quotient + rest


@on_sizes
def an_error_nobody_needs(x):
    """What is divided by a size is not used, and raises all the same."""
    n = x.shape[0]
    _ = 12 % (n - 2), 7 // (n - 3), 1 / (n - 7)
    return x + 1


@on_sizes
def truths_as_numbers(x):
    """Sums, products and connectives of comparisons."""
    n = x.shape[0]
    truths = [n > 2, n > 5, n % 2 == 0]
    return x * sum(truths), (n > 2) & 1, (n > 2) | 6, ((n > 2) ^ (n > 5)) * x, x * -(n > 2)


@on_sizes
def opposite_bits_of_truths(x):
    """`~` of a truth is a number; `<<` makes one, and `**` too."""
    n = x.shape[0]
    return x * ~(n > 3), (n > 3) << 2, (n >= 2) ** 2, (n > 7) // 1, True - (n == 4)


@on_sizes
def attributes_of_a_size(x):
    """What every int has."""
    n = x.shape[0]
    assert n.imag == 0
    return x * n.real + n.denominator, n.numerator, n.conjugate(), n.as_integer_ratio()


@on_sizes
def bytes_of_a_size(x):
    """Bits and bytes of a size decide what is made."""
    n = x.shape[0]
    return x * n.bit_length() + n.bit_count(), list((n + 300).to_bytes(2, "little"))


@on_sizes
def rounded_to_tens(x):
    """`round` with digits below and above zero."""
    n = x.shape[0]
    return x * round(n * 7, -1), round(n), round(n / 3, 1), round(n / 3)


@on_sizes
def called_by_name(x):
    """The functions of `operator` and the methods by their names."""
    n = x.shape[0]
    found = functools.reduce(operator.xor, [n, 3, 9])
    return x * found, n.__mul__(3), n.__rsub__(1), operator.inv(n), operator.ixor(n, 1)


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows, refused=("capture-failed",))
def methods_of_the_class(x):
    """`int.__add__(n, 2)`, as `functools.partialmethod` and `super()` call it."""
    return x * int.__add__(x.shape[0], 2)


# --- numbers of other kinds --------------------------------------------------------------------


@on_sizes
def fractions_of_a_size(x):
    """A `Fraction` made of a size, and compared with one."""
    n = x.shape[0]
    part = fractions.Fraction(n, 6) + fractions.Fraction(1, 3) * n
    return x * float(part) if n < fractions.Fraction(9, 2) else x * part.denominator


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows, refused=("capture-failed",))
def decimals_of_a_size(x):
    """A `Decimal` beside a size on either side."""
    n = x.shape[0]
    return x * float(decimal.Decimal("0.5") * n), x * float(decimal.Decimal(n) + n)


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows)
def places_of_parts(x):
    """Where parts begin that may have nothing in them."""
    parts = x.tensor_split((1, 3))
    return x + 1, [(each.stride(), each.storage_offset()) for each in parts]


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows, refused=("capture-failed",))
def gradient_of_a_dropout_of_any_size(x):
    """PyTorch asks in C++ how many elements it has."""
    return torch.func.grad(lambda y: torch.dropout(y, 0.5, True).sum())(x)


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows, refused=("capture-failed",))
def exponent_of_a_size(x):
    """`ldexp` takes what is an `int` to C alone."""
    return x * math.ldexp(1.5, x.shape[0])


@on_sizes
def complex_of_a_size(x):
    """A product with an imaginary number."""
    n = x.shape[0]
    return x * (n * 1j + 2), complex(n, 1), abs(n + 0j)


@on_sizes
def arrays_of_sizes(x):
    """NumPy's scalars and arrays of a size."""
    n = x.shape[0]
    return x * float(np.sqrt(n)), torch.from_numpy(np.arange(3) * n) + x, float(n + np.float32(0.1))


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows, refused=("capture-failed",))
def an_array_holds_a_size(x):
    """An array made of a list with a size in it."""
    return x + torch.from_numpy(np.array([x.shape[0], 2, 3]))


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows, refused=("capture-failed",))
def statistics_of_sizes(x):
    """Mean, median and deviation of a few sizes."""
    few = [x.shape[0], 3, 8]
    return x * statistics.mean(few) + statistics.median(few), statistics.pstdev(few)


@on_sizes
def packed(x):
    """Packed into bytes, as whole numbers and as floats."""
    n = x.shape[0]
    return x * sum(struct.pack("<hd", n, n / 2))


@on_sizes
def whole_number_functions(x):
    """`math` of whole numbers."""
    n = x.shape[0]
    found = math.gcd(n, 12), math.lcm(n, 4), math.comb(n + 2, 2), math.isqrt(n), math.factorial(n)
    return x * sum(found), math.prod([n, 2, n]), math.perm(n + 1, 1)


@on_sizes
def float_functions(x):
    """`math` of floats."""
    n = x.shape[0]
    found = (
        math.log2(n + 1),
        math.hypot(n, 2),
        math.fmod(n, 3),
        math.copysign(n, -1),
        math.ldexp(n, 1),
    )
    return x * sum(found), math.isclose(n, 4.0), math.modf(n / 3), math.frexp(n)


# --- numbers in use ----------------------------------------------------------------------------


@on_sizes
def texts_of_sizes(x):
    """Texts of all kinds decide what is looked up."""
    n = x.shape[0]
    texts = [f"{n:03d}", f"{n / 4:.2f}", f"{n!r}", f"{n:x}", f"{n:>4}", str(n > 2), hex(n)]
    return x * sum(len(text) * ord(text[-1]) for text in texts)


@probe("assumption", rows(4), calls=SIZES, shapes=any_rows, refused=("capture-failed",))
def json_of_a_size(x):
    """A size in a document."""
    return x * len(json.dumps({"n": x.shape[0], "half": x.shape[0] / 2}))


@on_sizes
def slices_and_repeats(x):
    """Sequences cut, stepped and repeated by a size."""
    n = x.shape[0]
    letters = "abcdefghijkl"[: n + 1][::-1] + "z" * n
    return x * len(letters) + ord(letters[0]), [1, 2] * n, list(range(n, 12, n + 1))


@on_sizes
def chosen_by_a_comparison(x):
    """A list and a tuple indexed by a truth."""
    n = x.shape[0]
    return [x, x * 2][n > 3] + (1, 5)[n % 2 == 0]


@on_sizes
def keys_of_sizes(x):
    """Sets and dicts of sizes, floats of them and truths."""
    n = x.shape[0]
    return x * {2: 3, 4: 5, 0.5: 7}.get(n / 8, 11), len({n, 4, n > 3})


@on_sizes
def orders_of_sizes(x):
    """Sorted, bisected, largest by a key, and compared in a chain."""
    n = x.shape[0]
    place = bisect.bisect([1, 3, 5], n)
    first = sorted([n, 5, 2.5], key=lambda each: -each)[-2]
    return x * place + first, max(n, 3.5), min([n, 6], default=0), 1 < n <= 4 != n


@on_sizes
def copies_of_a_size(x):
    """Copies are equal to what they were made of."""
    n = x.shape[0]
    return x * copy.deepcopy({"n": n})["n"] + copy.copy(n / 2)


@on_sizes
def counted_with_iterators(x):
    """`itertools` with a size in each place."""
    n = x.shape[0]
    found = [*itertools.islice(itertools.count(n, 2), 3), *itertools.repeat(5, n)]
    return (
        x * sum(found),
        list(enumerate("ab", n)),
        list(itertools.accumulate([n, 2], operator.mul)),
    )


@on_sizes
def asked_what_it_is(x):
    """Classes of numbers and their abstract classes."""
    n = x.shape[0]
    known = isinstance(n, numbers.Integral), isinstance(n / 2, numbers.Real), callable(n)
    return x * sum(known), hasattr(n, "to_bytes"), (n / 2).is_integer()


@on_sizes
def floats_of_a_size(x):
    """Each operator of floats, with the size on either side."""
    half = x.shape[0] / 2
    return (
        x * (half // 0.75) + 7.5 % (half + 0.25),
        2.0**half,
        (half + 1) ** -0.5,
        -half,
        abs(half - 3),
    )


@exact
def powers_of_negative_numbers(x):
    """`-2.0 ** n` is something else."""
    return x * (-2.0) ** x.shape[0], (-1.5) ** -x.shape[0], (-0.0) ** x.shape[0]


@on_sizes
def roots_of_negative_numbers(x):
    """A negative base makes a complex number."""
    return x * (x.shape[0] - 2.5) ** 0.5


# --- numbers out of data -----------------------------------------------------------------------


@probe("data", number(5, 3), calls=WHOLE)
def bits_of_a_datum(x, i):
    """Whole numbers out of a tensor."""
    a, b = i.tolist()
    return x * (a ^ 5), a & 6, ~b, divmod(a, 4), x + (a | b)


@probe("data", number(5, 3), calls=WHOLE, refused=REFUSED)
def exponent_out_of_data(x, i):
    """An exponent that only data knows."""
    return x * 2 ** i[0].item()


@probe("data", number(5, 3), calls=WHOLE)
def divided_by_a_datum(x, i):
    """A divisor that may be zero."""
    a, b = i.tolist()
    return x * (a // b) + a % b


@probe("data", number(5, 3), calls=WHOLE, refused=REFUSED)
def text_out_of_data(x, i):
    """A text of a number, and its bytes."""
    return x * len(f"{int(i[0]):4d}") + i[1].item().bit_length()


@probe("data", real(0.5, 2.0), calls=FLOATS, refused=REFUSED)
def float_out_of_data(x, r):
    """Operators and methods of floats."""
    a, b = r.tolist()
    return x * divmod(a, 0.75)[0], x + a.is_integer(), round(b), (abs(a) + 1) ** b, -a, a == b


@probe("data", real(0.5, 2.0), calls=FLOATS, refused=REFUSED)
def hexadecimal_out_of_data(x, r):
    """The digits of a float."""
    return x * len(r[0].item().hex())


@probe("data", real(0.5, 2.0), calls=FLOATS, refused=REFUSED)
def bytes_out_of_data(x, r):
    """C code swallows what it is told, and says something else."""
    return x * struct.pack("<f", r[0])[2]


@probe("data", real(0.5, 2.0), calls=FLOATS, refused=REFUSED)
def recursion_on_data(x, r):
    """Halved until it is small."""

    def halved(t):
        return halved(t / 2) if t.sum() > 1 else t

    return halved(r) + x[0]


@probe("data", real(0.5, 2.0), calls=FLOATS, refused=REFUSED)
def chosen_by_a_datum(x, r):
    """A tuple indexed by a truth that is in a tensor."""
    return (x * 3, x - 1)[r[0] > 0.25]


@probe("data", real(0.5, 2.0), calls=FLOATS)
def mapped_over_a_vector(x, r):
    """`vmap` where each slice is a scalar, and so is each result."""
    return torch.vmap(lambda a, b: a * 2 + b.sin())(x[:2], r), torch.vmap(torch.exp)(x)


@probe("outside", real(0.5, 2.0), refused=REFUSED)
def computed_in_a_thread(x, r):
    """Another thread computes a part."""
    found = []
    worker = threading.Thread(target=lambda: found.append(x.sum() * r))
    worker.start()
    worker.join()
    return found[0]


@probe("mode", rows(4), agrees={"8 rows": rows(8)}, shapes=lambda dim: {"x": {0: dim.AUTO}})
class Profiled(nn.Module):
    """Ranges for a profiler around a part, on a size and within each other."""

    def forward(self, x):
        """Give two results."""
        with torch.profiler.record_function(f"outer {x.dim()}"):
            y = x * x.shape[0]
            with torch.autograd.profiler.record_function("inner"):
                z = y.sum(0)
        return y, z


@probe(
    "size",
    rows(4),
    calls=SIZES,
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def sizes_as_keys_of_the_result(x):
    """Keys that are sizes, and made of sizes."""
    n = x.shape[0]
    return {n: x + 1, "a": {n * 2: x}, "b": [{n - 1: x * 2}]}


@probe("data", number(5, 2), calls=WHOLE)
def truths_as_whole_numbers(x, t):
    """What arithmetic makes of a truth is an int, which is no bool where it is returned or used."""
    found = (t[0] > t[1]).any().item()
    return abs(found), +found, -found, ~found, round(found), (x > 0) + abs(found)


@probe("constant", rows(4), refused=("unsupported-output",))
def scalar_of_numpy_returned(x):
    """A number of NumPy's is a float of a class of its own."""
    return x, TABLE[1], TABLE.sum()


@probe("constant", rows(4), refused=("unsupported-output",))
def member_of_an_enum_returned(x):
    """A member is an int of a class of its own."""
    return {"kind": Kind.WIDE, "x": x * Kind.WIDE}
