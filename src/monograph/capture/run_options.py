"""Options of one run of a capture: what the example decides, for want of a general answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from types import CodeType

    from monograph.abstract.tensor_type import TensorType
    from monograph.diagnostics import Frame


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one run of a capture reads sizes and loops, after what runs before it failed at.

    Sizes get symbols, and a hint in the place of an example of 0 or 1, unless they are named here.

    The hint of those in `literal` (by path, `x.shape[0]`) is the example's own value. Those in
    `fixed` (by the name of their Dim, without one by path) are numbers, whatever the example says.
    With `decided`, conditions on sizes are decided where they are made (see `size_conditions`).
    With `unrolled`, loops over sizes that may be fixed fix them; `loops` are those that were tried.
    With `lists_made`, lists of symbolic ranges fix them; `lists` are those that did not.
    With `state_decides`, what is asked of buffers alone is answered by what they hold, and the
    program asserts that they still do; tensors that hold a quotient of sizes are that number.
    The sides of conditions in `apart` (the code, and where in it) are not merged before the
    function returns; `doubted` are those whose merged sides something was refused for.
    `both_ways` is in how many regions at most both ways of branches on sizes are recorded, but for
    those about 0 and 1 alone; `branches` are the conditions where the example's way was taken. With
    `relations_deferred`, relations that no declaration can spell are left to the contract.
    `asked` are the tensors that were asked. With `texts_made`, texts of what only the run tells are
    made at once, as a text decides something. `counted` are the paths of the ints in what is passed
    in that forward replaces by others: they vary, as `Dim.AUTO` does. `flags` are the paths of the
    module's truths that one call sets and the next one reads: buffers of the program. `scratch`
    are the paths of scratch buffers, and the types that they begin with, where those are others.
    Instructions in `plain` (the code, and where in it) give C plain numbers in place of symbolic
    ones, which it did not take.
    """

    literal: AbstractSet[str] = frozenset()
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])
    decided: bool = False
    unrolled: bool = False
    loops: list[str] = field(default_factory=list[str])
    lists_made: bool = False
    lists: list[str] = field(default_factory=list[str])
    state_decides: bool = False
    asked: list[str] = field(default_factory=list[str])
    apart: frozenset[Any] = frozenset()
    doubted: list[Any] = field(default_factory=list[Any])
    texts_made: bool = False
    counted: AbstractSet[str] = frozenset()
    both_ways: int = 0
    relations_deferred: bool = False
    branches: list[str] = field(default_factory=list[str])
    flags: frozenset[str] = frozenset()
    plain: frozenset[tuple[CodeType, int]] = frozenset()
    scratch: Mapping[str, TensorType | None] = field(default_factory=dict[str, "TensorType | None"])


@dataclass(slots=True)
class ExportingAnswers:
    """What those hear who ask whether somebody exports or compiles: user code, and packages.

    Filled: whether packages asked, and where each question was first given each answer.
    """

    user: bool = False
    packages: bool = False
    is_asked_by_packages: bool = False
    found: dict[tuple[str, bool], tuple[Frame, ...]] = field(
        default_factory=dict[tuple[str, bool], "tuple[Frame, ...]"]
    )


__all__ = ["ExportingAnswers", "RunOptions"]
