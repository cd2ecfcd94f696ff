"""The contract of a program that is exported again, asked of what its call is given.

Law: what the old contract refuses, the new one refuses: sizes become guards, and answers, layouts
and memory that is apart are noted as if user code had asked for them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.installation import heard_by
from monograph.capture.queries.query_kinds import UNASKED, UNCHECKED, asks_tensor
from monograph.capture.torch_overrides.guarded_queries import asked, note_followed
from monograph.diagnostics import Frame, problem
from monograph.host.dispatch import without_modes
from monograph.integers import SIZE_LIMIT, le, substitute, substitute_relation, symbols
from monograph.program.calling.checks import compile_checks, solution_plan
from monograph.program.contract import (
    TensorClause,
    pairs_apart,
    question_text,
    spots,
    state_asked,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monograph.capture.queries.noted_answers import Subject
    from monograph.capture.queries.query_kinds import Answer
    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Expr, Int
    from monograph.program.contract import Contract


def ask(recorder: Recorder, contract: Contract, leaves: Sequence[Any]) -> None:
    """Hold every call of the new program to this contract.

    Raises: contract-broken; outside-read (nothing can ask it of what is given).
    """
    _Asking(recorder, contract, leaves).ask()


class _Asking:
    """One contract, and what it is asked of: flat inputs, then the state that checks look at."""

    def __init__(self, recorder: Recorder, contract: Contract, leaves: Sequence[Any]) -> None:
        self.recorder, self.contract, self.leaves = recorder, contract, leaves
        self.noted = recorder.answers_noted
        self.subjects = [self._subject(each) for each in leaves]
        self.origin = recorder.scopes.current.frames

    def _subject(self, leaf: Any) -> Subject | None:
        """What a tensor stands for, if it is an input of the new program, or state."""
        if not isinstance(leaf, AbstractTensor) or leaf.node is None or leaf.view_of is not None:
            return None
        return self.noted.subjects.get(leaf.node)

    def ask(self) -> None:
        """Everything, one kind after the other."""
        scopes, contract = self.recorder.scopes, self.contract
        outer = scopes.current
        scopes.asks_for_program = True
        try:
            self._ask_sizes()
            self._ask_as_example()
            self._ask_layouts()
            for answer, leaf, subject in self._answers():
                scopes.stand_at(outer, spots(answer.origin))
                self._ask_answer(answer, leaf, subject)
            scopes.current = outer
            for one, other in pairs_apart(contract):
                self._keep_apart(one, other)
        finally:
            scopes.asks_for_program = False
            scopes.current = outer
        if self.recorder.asks_dtype is None and contract.dtype_asked is not None:
            frames = (each for each in spots(contract.dtype_asked) if isinstance(each, Frame))
            self.recorder.asks_dtype = tuple(frames)
        self._note_modes()

    # --- sizes -----------------------------------------------------------------------------------

    def _ask_sizes(self) -> None:
        """Types and sizes; each guard as of the line that asked for it."""
        contract, scopes = self.contract, self.recorder.scopes
        clauses = tuple(
            replace(each, strides=None, offset=None) if isinstance(each, TensorClause) else each
            for each in contract.clauses
        )
        unchecked = tuple(each for each in contract.answers if each.question == UNCHECKED)
        bare = replace(
            contract, clauses=clauses, guards=(), answers=unchecked, apart=(), apart_from_state=()
        )
        compile_checks(bare)(self.leaves[: len(clauses)])
        outer, sizes = scopes.current, self._sizes()
        for guard in contract.guards:
            (symbol, *_) = guard.relation.symbols
            if guard.relation == le(symbol, SIZE_LIMIT):
                self.recorder.facts.lean_on(symbols(sizes[symbol]))
                continue
            scopes.stand_at(outer, spots(guard.origin))
            holds = substitute_relation(guard.relation, sizes)
            if not isinstance(holds, bool):
                to_sym(holds).node.expect_true("", 0)
            elif not holds:
                compile_checks(replace(bare, guards=(guard,)))(self.leaves[: len(clauses)])
        scopes.current = outer

    def _sizes(self) -> dict[Expr, Int]:
        """What the contract's symbols are in the new capture."""
        shown: dict[str, Any] = {}
        for place, leaf in enumerate(self.leaves[: len(self.contract.clauses)]):
            shown[f"l{place}"] = leaf
            if isinstance(leaf, AbstractTensor):
                shown |= {f"d{place}_{dim}": n for dim, n in enumerate(leaf.tensor_type.shape)}
        found: dict[Expr, Any] = {}
        for step in solution_plan(self.contract).steps:
            value = to_python(shown[step.equation.code])
            if step.equation.expected is not step.symbol:
                value = (value - substitute(step.offset, found)) // step.coefficient
            found[step.symbol] = value
        return found

    def _ask_as_example(self) -> None:
        """The example itself is a call that the old program accepts."""
        examples = [self._example(*pair) for pair in zip(self.leaves, self.subjects, strict=True)]
        if not any(each is None for each in examples):
            with heard_by(None), without_modes():
                compile_checks(self.contract)([each[0] for each in examples if each is not None])

    def _example(self, leaf: Any, subject: Subject | None) -> tuple[Any] | None:
        if subject is not None:
            return (subject.example,)
        if isinstance(leaf, torch.Tensor):
            return None
        return (leaf.node.hint if isinstance(leaf, torch.SymInt | torch.SymFloat) else leaf,)

    # --- layouts ---------------------------------------------------------------------------------

    def _ask_layouts(self) -> None:
        scopes = self.recorder.scopes
        outer = scopes.current
        for place, clause in enumerate(self.contract.clauses):
            if not isinstance(clause, TensorClause) or clause.strides is clause.offset is None:
                continue
            scopes.stand_at(outer, spots(clause.layout_origin))
            if clause.strides is not None:
                question = "strides" if clause.strides_of_one else "form"
                self.recorder.layout_asked(self.leaves[place], question)
            if clause.offset is not None:
                self.recorder.layout_asked(self.leaves[place], "offset")
        scopes.current = outer
        if self._has_layouts() and any(map(self._is_made, range(len(self.leaves)))):
            only = replace(self.contract, guards=(), answers=(), apart=(), apart_from_state=())
            compile_checks(only)(self.leaves[: len(only.clauses)])

    def _has_layouts(self) -> bool:
        tensors = [each for each in self.contract.clauses if isinstance(each, TensorClause)]
        return any(each.strides is not None or each.offset is not None for each in tensors)

    def _is_made(self, place: int) -> bool:
        """Whether forward makes what the program is given there."""
        return isinstance(self.leaves[place], torch.Tensor) and self.subjects[place] is None

    # --- answers ---------------------------------------------------------------------------------

    def _answers(self) -> Iterator[tuple[Answer, Any, Subject | None]]:
        """Each answer, and the tensor that gave it, if one did."""
        begin, state = len(self.contract.clauses), state_asked(self.contract)
        for answer in self.contract.answers:
            if answer.question == UNCHECKED:
                continue
            if not asks_tensor(answer):
                yield answer, None, None
                continue
            place = answer.argument
            place = begin + state.index(answer.path) if place is None else place
            yield answer, self.leaves[place], self.subjects[place]

    def _ask_answer(self, answer: Answer, leaf: Any, subject: Subject | None) -> None:
        recorder, noted, origin = self.recorder, self.noted, self.recorder.origin()
        if not asks_tensor(answer):
            if not recorder.scopes.decides(answer.question, answer.path):
                noted.note(answer.question, origin, answer.path)
        elif subject is not None:
            with heard_by(None):
                noted.note_tensor(answer.question, subject, origin)
        elif answer.question in {"needed", "needed_inside", "followed", "followed_inside"}:
            note_followed(recorder, leaf)
        elif answer.question in UNASKED or asked(recorder, leaf, answer.question) != answer.value:
            because = "which the program within asks of what it is given"
            raise problem("outside-read", what=question_text(answer), because=because)

    # --- memory ----------------------------------------------------------------------------------

    def _keep_apart(self, one: int, other: int) -> None:
        """Two tensors of every call share no memory; or one tensor's elements do not."""
        first, second = self.subjects[one], self.subjects[other]
        if first is None or second is None:
            self._check_made(self.leaves[one], self.leaves[other], is_one=one == other)
            return
        if first.argument is None:
            first, second = second, first
        if first.argument is not None:
            place = second.path if second.argument is None else second.argument
            self.noted.pairs_apart.add((first.argument, place))

    def _check_made(self, one: Any, other: Any, *, is_one: bool) -> None:
        """Memory of what forward makes is apart from all that was there before.

        Raises: outside-read.
        """
        if not isinstance(one, AbstractTensor) or not isinstance(other, AbstractTensor):
            return
        is_made = self.noted.owner(one) is None or self.noted.owner(other) is None
        if is_one or not is_made or one.storage_root is other.storage_root:
            because = "which a program within asks of what it is given"
            raise problem("outside-read", what="whether tensors share memory", because=because)

    def _note_modes(self) -> None:
        modes, found = self.contract.modes, self.recorder.module_modes
        program = self.recorder.scopes.retraced
        path = program.path if program is not None else ""
        if modes is None:
            return
        for name, value in modes.asked:
            found.found.setdefault(".".join(filter(None, (path, name))), value)
        if not path:
            found.only_sets_flags = modes.only_sets_flags


__all__ = ["ask"]
