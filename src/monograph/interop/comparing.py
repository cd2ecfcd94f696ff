"""Differential check of a hand-over: its result answers the examples as the program does."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.host.trees import leaves_of, tree_map
from monograph.program.calling.result_comparison import first_difference

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.program import ExportedProgram

CALLS = 2
"""The second call shows what the first one wrote."""

CLOSE = {
    torch.float64: (1e-6, 1e-8),
    torch.complex128: (1e-6, 1e-8),
    torch.float16: (1e-2, 1e-2),
    torch.bfloat16: (2e-2, 2e-2),
}
OTHERWISE = (1e-3, 1e-4)
"""Other kernels add in another order; what is wrong is wrong by more than that."""


def check_answers(program: ExportedProgram, system: str, run: Callable[..., Any]) -> None:
    """Call both on the examples, twice; the program's state is as it was afterwards.

    A program that draws random numbers is not compared, nor is one that refuses its example.

    Raises: wrong-after-handing-over.
    """
    state = [*program.state_dict.values(), *program.constants.values()]
    if program.example_inputs is None or any(each.is_meta for each in state):
        return
    expected = _answers(program, 0)
    if expected is None or _difference(expected, _answers(program, 1)) is not None:
        return
    difference = _difference(expected, _called(run, program.example_inputs))
    if difference is not None:
        output, what = difference
        raise problem("wrong-after-handing-over", system=system, output=output, difference=what)


def _answers(program: ExportedProgram, seed: int) -> list[list[Any]] | None:
    own = copy.deepcopy(program)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        try:
            return _called(own.module(), program.example_inputs)
        except Exception:  # noqa: BLE001  (whatever a program raises on its example)
            return None


def _called(run: Callable[..., Any], examples: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    for _ in range(CALLS):
        args, kwargs = tree_map(copy.deepcopy, examples)
        with torch.no_grad():
            result = run(*args, **kwargs)
        leaves = leaves_of(result)
        found.append([x.clone() if isinstance(x, torch.Tensor) else x for x in leaves])
    return found


def _difference(
    expected: list[list[Any]], actual: list[list[Any]] | None
) -> tuple[str, str] | None:
    if actual is None:
        return "the result", "it raises"
    for call, (left, right) in enumerate(zip(expected, actual, strict=True)):
        when = "" if not call else ", when it is called again"
        if len(left) != len(right):
            return f"the result{when}", f"{len(left)} values became {len(right)}"
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            is_tensor = isinstance(one, torch.Tensor)
            close = CLOSE.get(one.dtype, OTHERWISE) if is_tensor else OTHERWISE
            found = first_difference([one], [other], close)
            if found is not None:
                return f"value {index} of the result{when}", found[1]
    return None


__all__ = ["check_answers"]
