"""Every elementwise operator promotes dtypes as eager does, or refuses where eager does."""

import itertools
import warnings
from pathlib import Path

import pytest
import torch

from monograph.abstract.tensor_type import type_of
from monograph.diagnostics import MonographError
from monograph.integers import Facts, use
from monograph.rules import RULES

pytestmark = pytest.mark.laws

DTYPES = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.complex64)
SHAPES = ((2,), ())
NUMBERS = (True, 2, 2.5, 1j)
# Words of a kernel that lacks a dtype on this device, which is no law of the operator.
NO_KERNEL = (
    *("not implemented for", "not supported for", "Half", "is not supported on"),
    *(
        "unsigned type with negative limits",
        "itensor_view_from_dense",
        "primitive descriptor",
        "without overflow",
    ),
)
FILES = {"pointwise", "masks_and_bounds", "complex_numbers"}
OPERANDS = {"Tensor", "Optional[Tensor]", "number", "Optional[number]"}


def tensors():
    """Ones of every dtype, with and without dimensions."""
    return [torch.ones(shape, dtype=dtype) for dtype in DTYPES for shape in SHAPES]


def candidates(argument):
    """What to try for an argument."""
    if "Tensor" in str(argument.type):
        return tensors()
    return NUMBERS


def calls(overload):
    """Every combination of the first two operands; a third one equals the first."""
    arguments = [a for a in overload._schema.arguments if not a.has_default_value()]
    if len(arguments) < 2 and len(overload._schema.arguments) > 1:
        arguments = overload._schema.arguments[:1]
    known = [str(a.type) in OPERANDS for a in arguments]
    if not arguments or not all(known) or any(a.kwarg_only for a in arguments):
        return
    first = candidates(arguments[0])
    second = candidates(arguments[1]) if len(arguments) > 1 else [None]
    for left, right in itertools.product(first, second):
        if len(arguments) == 1:
            yield (left,)
        elif not isinstance(left, torch.Tensor) and not isinstance(right, torch.Tensor):
            continue
        else:
            rest = [left if "Tensor" in str(a.type) else 1 for a in arguments[2:]]
            yield (left, right, *rest)


def answer(function, args):
    """The dtypes of the result, or the words of the refusal."""
    try:
        result = function(*args)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
        return str(error).splitlines()[0]
    results = result if isinstance(result, tuple) else (result,)
    return [(r.dtype, tuple(r.shape)) for r in results]


RULED = [r for r in RULES.rules() if Path(r.file).stem in FILES]


@pytest.mark.parametrize("rule", RULED, ids=lambda rule: str(rule.overload))
def test_dtypes_and_refusals_are_eagers(rule):
    """For all dtypes of two operands, as tensors, 0-dim tensors and numbers."""
    wrong = []
    with warnings.catch_warnings(), use(Facts()):
        warnings.simplefilter("ignore")
        for args in calls(rule.overload):
            theirs = answer(rule.overload, args)
            if isinstance(theirs, str) and any(words in theirs for words in NO_KERNEL):
                continue
            types = [type_of(a) if isinstance(a, torch.Tensor) else a for a in args]
            try:
                ours = answer(rule.function, types)
            except MonographError as error:
                ours = str(error)
            if isinstance(ours, str) != isinstance(theirs, str) or (
                not isinstance(ours, str) and ours != theirs
            ):
                wrong.append((types, ours, theirs))
    assert not wrong, "\n".join(map(str, wrong[:5])) + f"\n{len(wrong)} in all"
