"""Freezing: state that no call writes to becomes constant, and what depends on it is hoisted.

The rewrite is constant folding with parameters and buffers among the constants, by the same law;
what was asked of them is asked once, now.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.capture.queries.query_kinds import UNCHECKED, asks_tensor
from monograph.host.dispatch import has_memory, share_memory, storage_key
from monograph.passes.rewrites.fold_constants import Folding
from monograph.passes.rewrites.program_copy import ProgramCopy, StateInput
from monograph.passes.rewrites.registry import Rewrite
from monograph.program.calling.checks import compile_checks
from monograph.program.calling.frozen_module import (
    FROZEN,
    FrozenModule,
    FrozenState,
    HoistedValue,
    Watch,
)
from monograph.program.contract import state_asked
from monograph.program.stateful_module import make_module
from monograph.program.transforms.state_assignment import check_data
from monograph.program.transforms.transform import transformed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.passes.rewrites.fold_constants import FoldedConstant
    from monograph.program.program import ExportedProgram

_OF_GRADIENTS: Final = frozenset({"grad_mode", "inference_mode", "needed", UNCHECKED})
"""What is not asked when a module is frozen: it computes without gradients."""


def frozen_module(program: ExportedProgram, *, check: bool) -> FrozenModule:
    """The module of a program with its state frozen.

    Raises: weights-do-not-fit (they have no data), contract-broken (it is frozen in other modes
        than it was captured in).
    """
    check_data(program)
    _ask_once(program)
    freezing = _Freezing(program)
    made = transformed(program, (Rewrite("freeze", freezing.apply),))
    answers = tuple(
        each
        for each in made.contract.answers
        if each.argument is not None or not asks_tensor(each) or each.path in freezing.changing
    )
    made = replace(made, contract=replace(made.contract, answers=answers))
    module: Any = make_module(made, check=check, kind=FrozenModule)
    module.__dict__[FROZEN] = freezing.watch()
    return module


def _ask_once(program: ExportedProgram) -> None:
    """Hold that the state, and what surrounds this, answer as they did to the capture.

    Raises: contract-broken.
    """
    contract = program.contract
    asked = tuple(
        each
        for each in contract.answers
        if each.argument is None and each.question not in _OF_GRADIENTS
    )
    alone = replace(
        contract, clauses=(), guards=(), ranges=(), apart=(), apart_from_state=(), answers=asked
    )
    held = {**program.constants, **program.state_dict}
    compile_checks(alone)([held[name] for name in state_asked(alone)])


class _Freezing:
    """The rewrite, and what it finds out."""

    def __init__(self, program: ExportedProgram) -> None:
        self.apart = {name for _, name in program.contract.apart_from_state}
        self.changing: set[str] = set()
        self.before: dict[str, torch.Tensor] = {}
        self.after: dict[str, torch.Tensor] = {}
        self.found: list[FoldedConstant] = []

    def apply(self, edited: ProgramCopy) -> None:
        """Fold, make constants of what is left, and drop what nothing reads."""
        self.before = dict(edited.tensors)
        folding = Folding(edited)
        self.found = folding.fold(lambda _, tensor: _can_be_watched(tensor))
        for node in edited.placeholders():
            held = edited.state_inputs.get(node.name)
            if held is None:
                continue
            if folding.is_changed(node):
                self.changing.add(held.target)
            elif not node.users and held.target not in self.apart:
                del edited.state_inputs[node.name]
                edited.graph.erase_node(node)
            elif held.kind != "constant":
                edited.state_inputs[node.name] = StateInput("constant", held.target)
                edited.tensors[held.target] = edited.tensors[held.target].detach()
        read = {each.target for each in edited.state_inputs.values()}
        stays = {id(edited.tensors[name]) for name in self.changing}
        for name in [*edited.tensors]:
            if name not in read and id(edited.tensors[name]) not in stays:
                del edited.tensors[name]
        self.after = edited.tensors

    def watch(self) -> Watch:
        """What the module has to look at before a call."""
        sources: dict[str, None] = {}
        hoisted: list[HoistedValue] = []
        for each in self.found:
            value = self.after[each.target]
            apart = [at for at in each.sources if not share_memory(value, self.before[at])]
            sources |= dict.fromkeys(apart)
            own = value.untyped_storage().nbytes() if apart == [*each.sources] else 0
            hoisted.append(HoistedValue(each.name, each.operators, each.sources, own))
        mine = {name: each for name, each in self.before.items() if name not in self.changing}
        kept = tuple(name for name in mine if name in self.after)
        dropped = tuple(name for name in mine if name not in self.after)
        sizes = _n_bytes(self.before), _n_bytes(self.after)
        state = FrozenState(tuple(hoisted), kept, dropped, *sizes)
        read = [(name, self.after[name]) for name in sources if name in self.after]
        others = [(name, self.before[name]) for name in sources if name not in self.after]
        return Watch(state, read, others)


def _can_be_watched(tensor: torch.Tensor) -> bool:
    """Whether it is a plain tensor of which autograd counts the writes."""
    is_plain = type(tensor) in {torch.Tensor, torch.nn.Parameter}
    return is_plain and has_memory(tensor) and not tensor.is_inference()


def _n_bytes(tensors: Mapping[str, Any]) -> int:
    held = [each for each in tensors.values() if isinstance(each, torch.Tensor)]
    plain = [each for each in held if has_memory(each) and not each.is_meta]
    return sum({storage_key(each): each.untyped_storage().nbytes() for each in plain}.values())


__all__ = ["frozen_module"]
