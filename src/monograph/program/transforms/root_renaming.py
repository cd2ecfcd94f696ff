"""Renaming of the root: what a program of a module around another says in the other's own names.

Law: state, module calls and the contract lose the prefix; the graph and its values stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from monograph.capture.queries.query_kinds import asks_tensor
from monograph.capture.recording.scopes import STACK_ROOT
from monograph.passes.graph_walks import graph_modules
from monograph.program.program import ModuleCallEntry
from monograph.program.signature import InputKind, OutputKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.program.contract import Contract
    from monograph.program.program import ExportedProgram

_STATE = (
    InputKind.PARAMETER,
    InputKind.BUFFER,
    InputKind.CONSTANT_TENSOR,
    InputKind.CUSTOM_OBJ,
)
_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)


def without_prefix(program: ExportedProgram, prefix: str) -> ExportedProgram:
    """The program, in place, of whose names `prefix` is the module that it stands for."""
    held = {**program.constants, **program.state_dict}
    names = {name: _short(name, prefix) for name in held}
    if len({*names.values()}) < len(names):  # a constant of ours is called as a tensor of theirs
        names = {n: s if s not in held or n in program.state_dict else n for n, s in names.items()}
    signature = program.graph_signature
    inputs = {spec.arg.name: spec.kind for spec in signature.input_specs}
    for spec in signature.input_specs:
        if spec.kind in _STATE and spec.target is not None:
            spec.target = names[spec.target]
    for spec in signature.output_specs:
        if spec.kind in _WRITTEN and spec.target is not None:
            spec.target = names[spec.target]
    signature.mutated_in_place = {
        node: names[target] if inputs[node] in _STATE else target
        for node, target in signature.mutated_in_place.items()
    }
    program.state_dict = {names[name]: each for name, each in program.state_dict.items()}
    program.constants = {names[name]: each for name, each in program.constants.items()}
    program.contract = _contract(program.contract, names.__getitem__, prefix)
    program.module_call_graph = _module_calls(program, prefix)
    for _, module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if "nn_module_stack" in node.meta:
                node.meta["nn_module_stack"] = _stack(node.meta["nn_module_stack"], prefix)
    return program


def _short(path: str, prefix: str) -> str:
    """Take the prefix off a path, which may end in the number of a call.

    >>> _short("model.out", "model"), _short("model@1", "model"), _short("modelled", "model")
    ('out', '', 'modelled')
    """
    if path.partition("@")[0] == prefix:
        return ""
    return path.removeprefix(f"{prefix}.")


def _contract(contract: Contract, name_of: Callable[[str], str], prefix: str) -> Contract:
    answers = tuple(
        replace(each, path=name_of(each.path))
        if asks_tensor(each) and each.argument is None
        else each
        for each in contract.answers
    )
    modes = contract.modes
    if modes is not None:
        asked = dict.fromkeys((_short(path, prefix), flag) for path, flag in modes.asked)
        modes = replace(modes, asked=tuple(asked))
    apart = tuple((place, name_of(name)) for place, name in contract.apart_from_state)
    return replace(contract, answers=answers, modes=modes, apart_from_state=apart)


def _module_calls(program: ExportedProgram, prefix: str) -> list[ModuleCallEntry]:
    """The calls of modules below; that of the module itself is the program's."""
    kept = [each for each in program.module_call_graph if not each.fqn or _short(each.fqn, prefix)]
    return [ModuleCallEntry(_short(each.fqn, prefix), each.signature) for each in kept]


def _stack(stack: dict[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, (path, kind) in stack.items():
        name = f"{STACK_ROOT}{_short(key.removeprefix(STACK_ROOT), prefix)}"
        found[name] = (_short(path, prefix), kind)
    return found


__all__ = ["without_prefix"]
