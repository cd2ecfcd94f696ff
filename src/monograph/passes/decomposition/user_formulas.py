"""Users' decompositions: whoever gives one wants it applied, or to be told why it is not.

PyTorch's own may fail for some arguments, and then the operator is kept; so it is where a user's
says `NotImplemented`, or holds for some sizes alone. One that raises, or returns something else
than the operator, is refused.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.integers import eq, known
from monograph.passes.formulas import FormulaFailsError
from monograph.passes.graph_builder import argument_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monograph.diagnostics import MonographError
    from monograph.host.operator_types import OpOverload
    from monograph.passes.graph_builder import GraphBuilder

NOT_APPLIED: Final = "your formula is not applied: "
"""What the reasons begin with why an operator with a formula of the user's was kept."""

_OURS: Final = frozenset({"torch", "monograph"})


def is_of_user(formula: Callable[..., Any]) -> bool:
    """Whether a formula is neither PyTorch's nor ours."""
    while isinstance(formula, partial):
        formula = formula.func
    module = getattr(formula, "__module__", None) or "torch"
    return module.partition(".")[0] not in _OURS


def formula_fails(
    builder: GraphBuilder, overload: OpOverload, formula: Callable[..., Any], reason: object
) -> MonographError:
    """The refusal, at the user's line that calls the operator."""
    text = str(reason).removeprefix("its formula failed: ")
    return problem(
        "formula-fails", at=builder.lines(), op=str(overload), formula=_place(formula), reason=text
    )


def check_results(
    builder: GraphBuilder, overload: OpOverload, types: Any, keywords: dict[str, Any], results: Any
) -> None:
    """Hold what a formula returns to what its operator returns for arguments of these types.

    Raises: FormulaFailsError.
    """
    expected = list(_leaves(builder.inferred(overload, types, keywords)))
    found = list(_leaves(argument_type(results)))
    if len(expected) != len(found):
        raise FormulaFailsError(f"it returns {len(found)} values, and not {len(expected)}")
    for one, other in zip(expected, found, strict=True):
        if isinstance(one, TensorType) and not (
            isinstance(other, TensorType) and _is_alike(one, other)
        ):
            raise FormulaFailsError(f"it returns {_said(other)}, and not {_said(one)}")


def _is_alike(one: TensorType, other: TensorType) -> bool:
    if one.dtype is not other.dtype or one.device != other.device:
        return False
    if len(one.shape) != len(other.shape):
        return False
    return not any(known(eq(n, m)) is False for n, m in zip(one.shape, other.shape, strict=True))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _said(value: Any) -> str:
    if not isinstance(value, TensorType):
        return repr(value)
    sizes = ", ".join(map(str, value.shape))
    return f"a tensor {str(value.dtype).removeprefix('torch.')}[{sizes}] on {value.device}"


def _place(formula: Callable[..., Any]) -> str:
    """The name of a function, and where it is written."""
    while isinstance(formula, partial):
        formula = formula.func
    code = getattr(formula, "__code__", None)
    name = getattr(formula, "__qualname__", repr(formula))
    return f"`{name}`" if code is None else f"`{name}` ({code.co_filename}:{code.co_firstlineno})"


__all__ = ["NOT_APPLIED", "check_results", "formula_fails", "is_of_user"]
