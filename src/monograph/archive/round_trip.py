"""The round-trip check: what was saved is read back and run beside the program on its examples."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import ArchiveError, problem
from monograph.host.dispatch import is_fake
from monograph.host.trees import leaves_of, tree_map
from monograph.program import InputKind, OutputKind
from monograph.program.calling.result_comparison import first_difference
from monograph.program.transforms.state_assignment import with_state

if TYPE_CHECKING:
    from monograph.program import ExportedProgram

SEED = 0
TO_STATE = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)


def check_round_trip(saved: ExportedProgram, loaded: ExportedProgram) -> None:
    """Run both on the saved program's examples; what it holds is put back as it was.

    A program whose results differ from one run to the next is not compared.

    Raises: wrong-after-saving.
    """
    if saved.example_inputs is None:
        return
    if any(_has_no_data(tensor) for tensor in _tensors(saved)):
        return
    left_out = {n: t for n, t in saved.state_dict.items() if loaded.state_dict[n].is_meta}
    if left_out:
        loaded = with_state(loaded, left_out)
    expected = _run(saved, saved.example_inputs)
    actual = _run(loaded, loaded.example_inputs or saved.example_inputs)
    difference = _difference(expected, actual)
    if difference is None or _difference(expected, _run(saved, saved.example_inputs)):
        return
    where, what = difference
    raise problem("wrong-after-saving", output=where, difference=what)


def _tensors(program: ExportedProgram) -> list[Any]:
    return [*program.state_dict.values(), *program.constants.values()]


def _has_no_data(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.device.type == "meta" or is_fake(value))


def _written_state(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """The state that a run changes."""
    signature = program.graph_signature
    targets = {
        spec.target
        for spec in signature.input_specs
        if spec.kind is not InputKind.USER_INPUT and spec.arg.name in signature.mutated_in_place
    }
    targets |= {spec.target for spec in signature.output_specs if spec.kind in TO_STATE}
    state = {**program.constants, **program.state_dict}
    return {name: state[name] for name in targets if name is not None and name in state}


def _run(program: ExportedProgram, examples: Any) -> Any:
    kept = {name: value.detach().clone() for name, value in _written_state(program).items()}
    args, kwargs = tree_map(copy.deepcopy, examples)
    module = program.module()
    module.materialize()  # a program that cannot be called at all is no result to compare
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            result = module(*args, **kwargs)
        leaves = leaves_of((result, args, kwargs))
        return [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    except ArchiveError as error:  # the trust boundary's word for what the program raises
        return error.__cause__ or error
    except Exception as error:  # noqa: BLE001  (whatever the program raises is compared)
        return error
    finally:
        with torch.no_grad():
            for name, value in _written_state(program).items():
                if not value.is_leaf:
                    value.detach_()  # it got what has a history
                value.copy_(kept[name])


def _difference(expected: Any, actual: Any) -> tuple[str, str] | None:
    """Where two runs differ and how; None where they agree."""
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        return None if type(expected) is type(actual) else ("the run", f"it raises {actual!r}")
    if len(expected) != len(actual):
        return "the result", f"{len(expected)} values became {len(actual)}"
    found = first_difference(expected, actual)
    return None if found is None else (f"value {found[0]}", found[1])


__all__ = ["check_round_trip"]
