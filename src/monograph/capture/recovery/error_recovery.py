"""Error recovery: a recorder that goes on after a refusal, in order to find the next one too.

What only data tells is asked of the example (see `rehearsal`), and taken for true from there on,
with an assertion that stays in the program. What cannot be gone past is raised as ever.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.captured import RecoveredRefusal
from monograph.capture.numpy_arrays import AbstractArray
from monograph.capture.recording.guard_sources import draft_assumes
from monograph.capture.recording.recorder import Recorder
from monograph.capture.recovery.concrete_execution import Rehearsal, StuckError
from monograph.capture.recovery.custom_operators import with_fake_function
from monograph.capture.recovery.input_variations import bound
from monograph.capture.recovery.types_by_running import (
    Trial,
    disagreement,
    explained,
    fresh_types,
    returned_argument,
)
from monograph.diagnostics import MonographError, named, place, problem, snippet
from monograph.host.dispatch import without_modes
from monograph.integers import (
    Contradiction,
    Expr,
    Real,
    Relation,
    eq,
    ne,
    negate,
    relation_text,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch.fx.node import Node

    from monograph.capture.queries.tensor_answers import TensorAnswers
    from monograph.capture.recording.graph_writer import GraphWriter
    from monograph.capture.recording.operators import Operator
    from monograph.capture.recording.scopes import Scopes
    from monograph.integers import Facts

_MOST: Final = 1000
"""Questions that one capture answers by the example; a loop that asks more is left."""
_LARGEST: Final = 1 << 20
"""Elements of the largest tensor that a program keeps in order to compare."""
_BITS: Final = MappingProxyType(
    {
        torch.float64: torch.int64,
        torch.float32: torch.int32,
        torch.float16: torch.int16,
        torch.bfloat16: torch.int16,
        torch.complex64: torch.int64,
        **dict.fromkeys(
            (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
        ),
    }
)
"""Integers of the same bits, by which values are compared; None where they compare as they are."""
_OF_TORCH: Final = frozenset({"aten", "prims", "prim"})
_ASKING: Final = frozenset({"all", "any", "filter", "list", "max", "min", "sorted", "sum"})
"""Functions of Python that ask for the truth of other things than what they give."""
_READABLE: Final = frozenset({"numpy()", "numpy.asarray()", "format()"})


def cause_of(error: MonographError) -> tuple[Any, ...]:
    """What two refusals have in common that one edit mends."""
    diagnostic = error.diagnostic
    if diagnostic.at:
        return diagnostic.name, place(diagnostic.at[0])
    return diagnostic.name, diagnostic.headline


class Problems:
    """The refusals of one run, in the order in which they were met, each cause once."""

    def __init__(self) -> None:
        self._found: dict[Any, RecoveredRefusal] = {}
        self._met = 0

    def note(
        self,
        error: MonographError,
        assumed: str = "",
        *,
        is_checked: bool = False,
        is_seen_in_results: bool = True,
    ) -> None:
        """Remember a refusal, and go on. Raises it if there are too many."""
        self._met += 1
        if self.is_endless:
            raise error
        new = RecoveredRefusal(error, assumed, is_checked, is_seen_in_results=is_seen_in_results)
        cause = cause_of(error)
        known = self._found.get(cause)
        self._found[cause] = new if known is None else replace(known, times=known.times + 1)

    def note_unseen(self, errors: list[MonographError]) -> None:
        """Remember writes that the program does not make, and that no call of it would read."""
        for error in errors:
            self.note(error, "the program does not do it", is_seen_in_results=False)

    def note_unless_known(self, errors: list[MonographError]) -> None:
        """Remember what was found afterwards, without a line, unless it was met at one before."""
        names = {known.error.diagnostic.name for known in self._found.values()}
        for error in errors:
            if error.diagnostic.name not in names:
                self.note(error, "the program does not do it")

    @property
    def is_endless(self) -> bool:
        """Whether so much was met that user code may never come to an end."""
        return self._met > _MOST

    def forget(self) -> None:
        """A run begins anew."""
        self._found.clear()
        self._met = 0

    def found(self) -> tuple[RecoveredRefusal, ...]:
        """All of them; a problem that was met more than once says so."""
        return tuple([_counted(each) for each in self._found.values()])


def _counted(found: RecoveredRefusal) -> RecoveredRefusal:
    if found.times == 1:
        return found
    error = found.error
    return replace(found, error=type(error)(replace(error.diagnostic, times=found.times)))


class Continuing(Recorder):
    """Records one run, and notes what it would have been refused for."""

    def __init__(
        self,
        writer: GraphWriter,
        scopes: Scopes,
        facts: Facts,
        answers: TensorAnswers,
        problems: Problems,
    ) -> None:
        super().__init__(writer, scopes, facts, answers)
        self.problems = problems
        self._rehearsal: Rehearsal | None = None
        self._examples: Mapping[Expr, int] = {}
        self._called: tuple[Any, tuple[Any, ...], dict[str, Any]] = (None, (), {})
        self.called: Any = None
        """What the module gave for the example, where that was called for."""

    def rehearse_with(self, real: Mapping[Node, Any], examples: Mapping[Expr, int]) -> None:
        """What placeholders hold in the example, and what its sizes are."""
        self._rehearsal = Rehearsal(self, real)
        self._examples = examples
        self.facts.example = self

    def refuse(self, refusal: MonographError, assumed: str = "") -> None:
        """What user code does is let be, and the program repeats it as it was."""
        self.problems.note(refusal, assumed or "what it gives is what it gave during the export")

    # --- what only data tells ----------------------------------------------------------------

    def truth_of(self, r: Relation, refusal: Exception) -> bool:
        """Whether the relation holds for the example: assumed and asserted from here on."""
        answer = bool(self._computed(r, refusal))
        asked = snippet(refusal.diagnostic.at) if isinstance(refusal, MonographError) else ""
        words = f"`{asked}` is {answer}" if _is_comparison(asked) else ""
        self._assume(r if answer else negate(r), _given(refusal, answer=answer), words=words)
        return answer

    def value_of(
        self, number: Expr | Real | Relation, refuse: Callable[[float | None], Exception]
    ) -> float:
        """The number for the example: assumed and asserted from here on."""
        value = self._computed(number, refuse(None))
        if isinstance(number, Expr | Real):
            self._assume(eq(number, value), refuse(value), words=self._being(number, value))
        return value

    def truth(self, tensor: AbstractTensor) -> bool:
        """`bool(tensor)`: for the example, where it is no constant."""
        try:
            return super().truth(tensor)
        except MonographError as refusal:
            return self._way(self.item(tensor), refusal)

    def go_past(self, refusal: MonographError, value: Any) -> bool:
        """Go the example's way at a condition on data of which both cannot be recorded.

        In a branch, which the example may not run, nothing is known of it.
        """
        if self.region is not None:
            raise refusal
        value = value.tensor if type(value) is AbstractArray else value
        return self._way(value.item() if isinstance(value, AbstractTensor) else value, refusal)

    def _way(self, value: Any, refusal: MonographError) -> bool:
        """Whether a number is not zero for the example: assumed and asserted from here on."""
        number = to_python(value)
        if isinstance(number, bool | int | float):
            return bool(number)
        relation = number if isinstance(number, Relation) else ne(number, 0)
        if not isinstance(relation, Relation):
            return relation
        known = self.facts.known(relation)
        if known is not None:
            return known
        answer = bool(self._computed(relation, refusal))
        given = _given(refusal, answer=answer)
        words = self._being(relation, answer)
        self._assume(relation if answer else negate(relation), given, f"it is {answer}", words)
        return answer

    def _being(self, number: Expr | Real | Relation, value: Any) -> str:
        """Where a number was read, and what it is: "`x.item()` is 3"; "" of several."""
        sources = {self.facts.source_of(symbol) for symbol in number.symbols}
        is_read = len(sources) == 1 and any(map(self.facts.is_unbacked, number.symbols))
        if not is_read:
            return ""
        (source,) = sources
        asks = isinstance(value, bool) and source.partition("(")[0] in _ASKING
        shown = f"what {named(source)} asks" if asks else named(source)
        return f"{shown} is {value}"

    def read_data(self, tensor: AbstractTensor, reader: str) -> Any:
        """The example's data, of which the program cannot know that it stays the same."""
        try:
            return super().read_data(tensor, reader)
        except MonographError as refusal:
            if reader not in _READABLE and not reader.startswith("numpy."):
                raise
            with without_modes():
                real = self._run(tensor.node, refusal).detach().clone()
            here = snippet(refusal.diagnostic.at) or reader
            said = f"`{here}` gives what it gave for the example"
            is_checked = self.assert_equal(tensor, real, said)
            self.problems.note(refusal, said, is_checked=is_checked)
            with without_modes():
                if reader == "format()":
                    return real.item()
                array = real.numpy()
            array.setflags(write=False)  # what is written there would not reach the tensor
            return array

    def assert_equal(self, tensor: AbstractTensor, real: torch.Tensor, words: str) -> bool:
        """Have the program compare a tensor with its value in the example, if it can."""
        with without_modes():
            if real.numel() > _LARGEST or real.dtype not in _BITS:
                return False
            kept = real.clone()
        constant: Any = self.writer.lift_literal(kept, self)
        bits = _BITS[real.dtype]
        if bits is not None:  # a number that is none is itself, and a zero has a sign
            pair = tensor, constant
            tensor, constant = [
                self.call(torch.ops.aten.view.dtype, (each, bits), {}) for each in pair
            ]
        same = self.call(torch.ops.aten.eq.Tensor, (tensor, constant), {})
        number = to_python(self.item(self.call(torch.ops.aten.all.default, (same,), {})))
        if isinstance(number, Relation):
            self.said[number] = draft_assumes(words)
            self.facts.assert_at_run(number)
        return True

    def _computed(self, number: Expr | Real | Relation, refusal: Exception) -> Any:
        if any(s not in self._examples and not self._is_made(s) for s in number.symbols):
            raise refusal
        return self._run(self.writer.as_stated(number), refusal)

    def _is_made(self, symbol: Expr) -> bool:
        return self.writer.can_compute(ne(symbol, 0))  # pyright: ignore[reportArgumentType] - a symbol is never known

    def _run(self, node: Any, refusal: Exception) -> Any:
        """What a node computes for the example. Raises the refusal where it cannot be run."""
        assert self._rehearsal is not None, "the example is known before user code runs"
        if not hasattr(node, "all_input_nodes"):
            return node
        try:
            return self._rehearsal.value(node)
        except StuckError as error:
            raise refusal from error

    def _assume(self, relation: Any, refusal: Exception, said: str = "", words: str = "") -> None:
        assert isinstance(refusal, MonographError), "refusals are ours"
        names = {s: self.facts.source_of(s) or s.name for s in self.facts.symbols}
        if not said and isinstance(relation, Relation):
            said = f"`{relation_text(relation, names)}`"
        if isinstance(relation, Relation):
            self.said[relation] = draft_assumes(words or said)
        try:
            self.facts.assert_at_run(relation)
        except Contradiction as error:
            raise refusal from error
        self.problems.note(refusal, said, is_checked=True)

    # --- operators that nothing is known of --------------------------------------------------

    def call(self, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record one operator call; if nothing says what it returns, try it on the example."""
        self._called = overload, args, kwargs
        return super().call(overload, args, kwargs)

    def _infer(self, op: Operator, types: list[Any], keywords: dict[str, Any]) -> Any:
        try:
            inferred = super()._infer(op, types, keywords)
        except MonographError as refusal:
            if refusal.diagnostic.name != "unsupported-operator":
                raise
            trial = self._trial(op, types, keywords, refusal)
            if op.is_custom:
                args, kwargs = trial.real
                refusal = with_fake_function(refusal, op.overload, bound(op.overload, args, kwargs))
            return self._tried(trial, refusal)
        if op.rule is None and op.overload.namespace not in _OF_TORCH:
            return self._verified(op, types, keywords, inferred)
        return inferred

    def _verified(
        self, op: Operator, types: list[Any], keywords: dict[str, Any], inferred: Any
    ) -> Any:
        """What the fake kernel of a custom operator says, unless the operator disagrees."""
        refusal = problem("bug", reason=f"{op.overload} was not tried")
        try:
            trial = self._trial(op, types, keywords, refusal)
        except MonographError:
            return inferred  # the example does not come this far
        name = op.overload.name()
        breach = returned_argument(trial)
        if breach is not None:
            return self._tried(trial, problem("operator-breaks-schema", op=name, breach=breach))
        found = disagreement(inferred, trial.result, self._at_example)
        if found is None:
            return inferred
        return self._tried(trial, problem("fake-kernel-disagrees", op=name, differs=found))

    def _tried(self, trial: Trial, refusal: MonographError) -> Any:
        """Types as the operator's results for the example have them, sizes asserted."""
        guesses = explained(trial, self._at_example)
        types, assumed = fresh_types(trial.result, guesses, trial.op.base_name)
        for size, guess in assumed:
            relation = eq(size, guess)
            if isinstance(relation, Relation):
                shown = f"`{text(guess) if isinstance(guess, Expr) else guess}`"
                self.said[relation] = draft_assumes(
                    f"a size of what `{trial.op.base_name}` returns is {shown}"
                )
            self.facts.assert_at_run(relation)
        sizes = ", ".join(["?" if guess is None else text(guess) for guess in guesses])
        self.problems.note(refusal, f"sizes of its results are [{sizes}]", is_checked=True)
        return types

    def _trial(
        self, op: Operator, types: list[Any], keywords: dict[str, Any], refusal: MonographError
    ) -> Trial:
        """The operator, run on the example."""
        overload, args, kwargs = self._called
        if overload is not op.overload:
            raise refusal
        real = _each(lambda arg: self._real(arg, refusal), (args, kwargs))
        try:
            return Trial.of(op, (types, keywords), real)
        except StuckError as error:
            raise refusal from error

    def _real(self, arg: Any, refusal: MonographError) -> Any:
        """An argument as it is for the example."""
        if isinstance(arg, AbstractTensor):
            return self._run(arg.node, refusal)
        number = to_python(arg)
        if isinstance(number, Expr | Real | Relation):
            return self._run(self.writer.number(number), refusal)
        return arg

    def _at_example(self, size: Any) -> Any:
        """A size for the example; None where it cannot be told."""
        if not isinstance(size, Expr):
            return size
        try:
            return self._computed(size, problem("bug", reason="a size has no value"))
        except MonographError:
            return None


def _is_comparison(source: str) -> bool:
    """Whether a source text compares, and its own answer is what was asked for."""
    try:
        return isinstance(ast.parse(source.strip(), mode="eval").body, ast.Compare)
    except SyntaxError:
        return False


def _given(refusal: Exception, *, answer: bool) -> Exception:
    """The refusal, where the example's answer is known."""
    if not isinstance(refusal, MonographError):
        return refusal
    return type(refusal)(refusal.diagnostic.given(answer))


def _each(function: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)([_each(function, each) for each in value])
    if isinstance(value, dict):
        return {key: _each(function, each) for key, each in value.items()}
    return function(value)


__all__ = ["Continuing", "Problems", "RecoveredRefusal", "cause_of"]
