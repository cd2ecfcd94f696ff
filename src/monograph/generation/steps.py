"""One kind of step: the programs that do it at one length or another, and which of them admits it.

Each call is checked: by the straight-line code of the contract, which costs a hundredth of a step.
The program that did the last step is asked first: it is another one only where a window fills.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor import AbstractTensor
from monograph.diagnostics import ContractError
from monograph.generation.straight_line import compiled_step
from monograph.program.calling.checks import compile_checks
from monograph.program.contract import state_asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.program import ExportedProgram


class Step:
    """Calls whichever program admits what it is given."""

    def __init__(self, programs: Sequence[ExportedProgram]) -> None:
        self._calls = [each.module() for each in programs]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the step.

        Raises: contract-broken (of the program that was asked first).
        """
        refusal: ContractError | None = None
        for place, call in enumerate(self._calls):
            try:
                result = call(*args, **kwargs)
            except ContractError as error:
                refusal = refusal or error
                continue
            if place:  # a new list: other threads may be going over this one
                self._calls = [call, *(each for each in self._calls if each is not call)]
            return result
        assert refusal is not None, "there is a program"
        raise refusal


class DecodeStep(Step):
    """A step whose last argument is a list of the parts of a cache; it changes them in the list."""

    def __init__(self, programs: Sequence[ExportedProgram]) -> None:
        self._calls = [_Decode(each) for each in programs]
        self.batched = _batched(programs[0])
        """The places of the parts that have a text in each row."""


def _batched(program: ExportedProgram) -> tuple[int, ...]:
    """By the type of the tokens, which are the first argument."""
    args, _ = program.in_spec.children()
    nodes = [each for each in program.graph.nodes if each.op == "placeholder"]
    values: list[Any] = [each.meta["val"] for each in nodes[-program.in_spec.num_leaves :]]
    rows = values[0].tensor_type.shape[0]
    parts = values[len(values) - args.children()[-1].num_leaves :]
    return tuple(
        place
        for place, each in enumerate(parts)
        if isinstance(each, AbstractTensor) and any(s is rows for s in each.tensor_type.shape[:1])
    )


class _Decode:
    """The program of one regime, made when it is first called."""

    def __init__(self, program: ExportedProgram) -> None:
        state = {**program.constants, **program.state_dict}
        self._asked = [state[name] for name in state_asked(program.contract)]
        self._program = program
        self._check: Any = None
        self._run: Any = None
        _, changed = program.out_spec.children()
        self._places = [int(place) for place in changed.context]

    def __call__(self, *args: Any) -> Any:
        """The logits; the cache is changed in its list.

        Raises: contract-broken.
        """
        if self._run is None:
            self._check = compile_checks(self._program.contract)
            self._run = compiled_step(self._program)
        *given, cache = args
        leaves = (*given, *cache)
        self._check((*leaves, *self._asked))
        logits, *changed = self._run(*leaves)
        for place, part in zip(self._places, changed, strict=True):
            cache[place] = part
        return logits


__all__ = ["DecodeStep", "Step"]
