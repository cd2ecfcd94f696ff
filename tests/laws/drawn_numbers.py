"""Random programs over Python's numbers, on sizes and on numbers out of data.

A program is a few lines, each an operator, a method or a function of numbers that came before: the
sizes of a matrix, numbers out of two tensors, comparisons, literals. Each line is kept if it runs
at the example, and its value is no giant; at other calls it may raise, and then the program must
not answer. A program is all that follows from one number.
"""

import bisect
import copy
import decimal
import fractions
import functools
import itertools
import math
import operator
import random
import statistics
import struct

import numpy as np
import torch

from monograph.abstract.arithmetic import ARITHMETIC, BITWISE, COMPARISONS
from tests.contract.registry import Probe, as_call
from tests.seeding import reseed
from tests.sizes.programs.registry import compiled

SCOPE = {
    each.__name__: each
    for each in (
        *(torch, math, operator, fractions, decimal, statistics, struct, itertools, functools),
        *(bisect, copy),
    )
} | {"np": np}

BINARY = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
SYMBOLS = ("==", "!=", "<", "<=", ">", ">=")
WORDS = (*ARITHMETIC, *BITWISE, "divmod")
UNARY = (
    *("neg", "pos", "abs", "invert", "floor", "ceil", "trunc", "round"),
    *("int", "float", "bool", "index", "hash", "str", "repr"),
)
OPERATORS = (
    *(f"{{n}} {symbol} {{n}}" for symbol in BINARY * 2),
    *(f"{{n}} {symbol} {{n}}" for symbol in SYMBOLS),
    *(f"({{n}}).__{word}__({{n}})" for word in WORDS),
    *(f"({{n}}).__r{word}__({{n}})" for word in WORDS),
    *(f"({{n}}).__{word}__({{n}})" for word in COMPARISONS),
    *(f"({{n}}).__{word}__()" for word in UNARY),
    "-({n})", "+({n})", "~({i})", "abs({n})", "not {n}", "divmod({n}, {n})", "pow({i}, {k}, {j})",
    "pow({i}, {i}, {i})", "pow({j}, {i}, {j})", "{n} if {n} else {n}", "{n} and {n}", "{n} or {n}",
    "{n} < {n} <= {n}", "{n} in ({n}, {n})", "{n} == {n} != {n}",
)  # fmt: skip
FUNCTIONS = (
    "round({n})", "round({f}, {k})", "round({i}, -1)", "int({n})", "float({n})", "bool({n})",
    "complex({n}, 1).imag", "max({n}, {n})", "min({n}, {n}, {n})", "sum([{n}, {n}, {n}])",
    "sorted([{n}, {n}, {n}])[1]", "max([{n}, {n}], key=lambda each: -each)", "hash({n}) % 97",
    "({i}).bit_length()", "({i}).bit_count()", "({j} + abs({i})).to_bytes(9, 'big')[-1]",
    "({n}).as_integer_ratio()[0]", "({f}).is_integer()", "len(({f}).hex())", "({n}).real",
    "({n}).imag", "({n}).conjugate()", "({i}).numerator", "({i}).denominator",
    "math.gcd({i}, {i})", "math.lcm({i}, {j})", "math.isqrt(abs({i}))", "math.comb({j}, {k})",
    "math.factorial(abs({i}) % 9)", "math.prod([{n}, {n}])", "math.log2(abs({n}) + 1)",
    "math.log({j})", "math.sqrt(abs({n}))", "math.floor({n})", "math.ceil({n})", "math.trunc({n})",
    "math.fmod({n}, 3)", "math.copysign({n}, -1)", "math.hypot({n}, 2)", "math.isclose({n}, {n})",
    "math.exp({n} / 50)", "math.sin({n})", "math.atan2({n}, {n})", "math.fsum([{n}, {n}])",
    "math.ldexp({n}, 2)", "math.modf({n})[0]", "math.dist([{n}], [{n}])", "math.degrees({n})",
    *(f"operator.{word}({{n}}, {{n}})" for word in ARITHMETIC if "shift" not in word),
    *(f"operator.{word}({{i}}, {{i}})" for word in ("and_", "or_", "xor", "lshift", "rshift")),
    *(f"operator.i{word}({{n}}, {{n}})" for word in ARITHMETIC if "shift" not in word),
    "operator.inv({i})", "operator.index({i})", "operator.truth({n})", "operator.not_({n})",
    "operator.contains([1, 2, 3], {n})", "operator.itemgetter({i} % 3)([4, 5, 6])",
    "struct.pack('<q', {i})[0]", "struct.pack('<d', {n})[-1]", "struct.calcsize(f'{{{k}}}i')",
    "statistics.mean([{n}, 2, 5])", "statistics.median([{n}, {n}, 3])",
    "statistics.pstdev([{n}, 3.0])", "float(fractions.Fraction({i}, 3))",
    "float(fractions.Fraction(1, 3) * {i})", "fractions.Fraction(9, 2) > {n}",
    "float(decimal.Decimal(3) + {i})", "decimal.Decimal('2.5') < {n}", "abs({n} * 1j)",
    "({n} + 2j).real", "float(np.float32(0.1) * {n})", "int(np.int64(3) + {i})",
    "float(np.sqrt(abs({n})))", "bool(np.int64(4) > {n})",
    "functools.reduce(operator.xor, [{i}, {i}])",
    "copy.copy({n})", "copy.deepcopy([{n}])[0]", "next(itertools.count({i}))",
    "sum(itertools.islice(itertools.count({i}), 3))", "bisect.bisect([1, 3, 5], {n})",
)  # fmt: skip
USES = (
    "len(f'{{{n}}}')", "len(f'{{{f}:.3f}}')", "len(f'{{{i}:+06d}}')", "len('%d' % {n})",
    "len(str({n}))", "len(repr({n}))", "len(hex({i}))", "len(bin({i}))",
    "ord(chr(65 + abs({i}) % 20))",
    "sum(range({i} % 7))", "len(range({i}, {i}, {j}))", "sum([3, 1, 4, 1, 5][:{i}])",
    "sum([3, 1, 4, 1, 5][{i}::2])", "[3, 1, 4, 1, 5][{i} % 5]", "(7, 8)[{b}]",
    "len([0] * ({i} % 9))",
    "len('ab' * ({i} % 5))", "{{1: 2, 3: 4, 0.5: 6}}.get({n}, 5)", "len({{{n}, {n}}})",
    "len(bytes(abs({i}) % 9))", "sum(each * 2 for each in ({n}, {n}))",
    "list(enumerate('ab', {i}))[1][0]",
    "sum(zero for zero in [{n}] if zero)", "next((each for each in ({n}, {n}) if each > 2), 9)",
    "[{n}, {n}].index({n})", "any([{n}, {n}])", "all([{n}, {b}])",
    "x.new_zeros(abs({i}) % 7).shape[0]", "int(x.reshape(-1)[:{i}].shape[0])",
    "torch.arange({j}).sum().item()", "x[{i} % 2:].shape[0]",

)  # fmt: skip
STATEMENTS = (
    *(f"{{v}} = {{n}}; {{v}} {symbol}= {{n}}" for symbol in BINARY),
    "{v} = 0\n    for _ in range({i} % 4):\n        {v} += {n}",
    "if {n} > {n}:\n        {v} = {n}\n    else:\n        {v} = {n}",
    "try:\n        {v} = {n} // {n}\n    except ZeroDivisionError:\n        {v} = 1",
    "{v}, _ = divmod({n}, {n})",
    "{v} = [each ** 2 for each in [{n}, {n}]][1]",
    "{v} = 1\n    while {v} < {i} % 9:\n        {v} = {v} * 2",
)
SIZES = ("x.shape[0]", "x.shape[1]", "x.size(0)", "len(x)", "x.numel()")
DATA = ("int(t[0])", "t[1].item()", "r[0].item()", "float(r[1])", "t.tolist()[2]", "bool(t[0] > 1)")
LITERALS = ("0", "1", "2", "3", "-2", "7", "0.5", "-1.5", "2.0", "-0.0", "1e3", "True", "False")
ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)
LARGEST = 1 << 40


def drawn_numbers(number: int) -> tuple[Probe, str]:
    """A program and its calls, and how they read."""
    rng = random.Random(number)
    kind = rng.choice(("sizes", "sizes", "data", "both"))
    inputs = [(4, 3, (3, 5, -2), (1.5, -0.25))]
    for _ in range(4):
        whole = tuple(rng.choice((0, 1, 2, 3, 5, 8, -1, -7)) for _ in range(3))
        floats = tuple(rng.choice((0.0, -0.0, 1.5, -2.5, 3.0, 0.1, 1e6)) for _ in range(2))
        inputs.append((rng.choice((0, 1, 2, 3, 5, 6, 9)), rng.choice((1, 2, 3, 4)), whole, floats))
    source = source_of(rng, kind, inputs[0])
    calls = {f"call {at}": as_call(maker(each)) for at, each in enumerate(inputs)}
    example = calls.pop("call 0")
    probe = Probe(
        "drawn_numbers",
        "size",
        lambda: compiled("drawn_numbers", source, SCOPE),
        example,
        {"example": example, **calls},
        shapes=lambda dim: ({0: dim.AUTO, 1: dim.AUTO}, None, None),
    )
    told = [source, f"number: {number}", *(f"call {at}: {each}" for at, each in enumerate(inputs))]
    return probe, "\n".join(told)


def maker(given: tuple) -> object:
    """How the inputs of a call are made."""
    n, m, whole, floats = given
    return lambda: (
        torch.ones(n, m),
        torch.tensor(whole),
        torch.tensor(floats, dtype=torch.float64),
    )


def source_of(rng: random.Random, kind: str, example: tuple) -> str:
    """Lines that run at the example, and the numbers they made."""
    reseed(0)
    names = dict(zip("xtr", maker(example)(), strict=True))
    known: dict[str, object] = {}
    lines: list[str] = []
    leaves = {"sizes": SIZES, "data": DATA, "both": (*SIZES, *DATA)}[kind]
    while len(lines) < 3:
        keep(rng, f"{{v}} = {rng.choice(leaves)}", names, known, lines)
    for _ in range(rng.randint(1, 4)):
        family = rng.choice((OPERATORS, OPERATORS, FUNCTIONS, FUNCTIONS, USES, STATEMENTS))
        template = rng.choice(family)
        keep(rng, template if "{v}" in template else f"{{v}} = {template}", names, known, lines)
    results = ", ".join(known)
    return "\n    ".join(["def drawn_numbers(x, t, r):", *lines, f"return x * 2, {results}\n"])


def keep(rng: random.Random, template: str, names: dict, known: dict, lines: list) -> None:
    """Fill in a line, and keep it if it makes a number at the example."""
    target = f"v{len(known)}"
    line = filled(rng, template, known).replace("{v}", target)
    trial = {**SCOPE, **names, **known}
    try:
        exec(line.replace("\n    ", "\n"), trial)
    except ERRORS:
        return
    made = trial[target]
    if type(made) not in (int, float, bool) or abs(made) > LARGEST:
        return
    known[target] = made
    lines.append(line)


def filled(rng: random.Random, template: str, known: dict) -> str:
    """Put numbers in the places: any, a whole one, a float, a truth, small literals."""

    def one(*kinds: type) -> str:
        of_kind = [name for name, value in known.items() if type(value) in kinds]
        if of_kind and rng.random() < 0.8:
            return rng.choice(of_kind)
        literals = [each for each in LITERALS if type(eval(each)) in kinds]
        return rng.choice(literals)

    places = {"n": (int, float, bool), "i": (int,), "f": (float,), "b": (bool,)}
    for place, kinds in places.items():
        while f"{{{place}}}" in template:
            template = template.replace(f"{{{place}}}", one(*kinds), 1)
    template = template.replace("{k}", rng.choice("0123")).replace("{j}", rng.choice("1249"))
    return template.replace("{{", "{").replace("}}", "}")
