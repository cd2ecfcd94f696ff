"""Differential testing of programs: `verify` against the module, `compare` against each other."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from monograph.archive import load
from monograph.archive.files.zip_reading import open_container
from monograph.diagnostics import problem
from monograph.host.dispatch import is_fake
from monograph.host.trees import leaves_of
from monograph.interop import from_torch
from monograph.program import ExportedProgram
from monograph.program.calling.kept_state import KeptState
from monograph.verification import evidence as kept_evidence
from monograph.verification.comparison import Difference, compared, first_difference
from monograph.verification.divergence import Divergence, divergence, raising
from monograph.verification.handed_over import as_function
from monograph.verification.legal_inputs import Draw, LegalInputs, admits
from monograph.verification.outcomes import Outcome, Side
from monograph.verification.rounding_errors import rounding_bound
from monograph.verification.verdict import EVIDENCE, Sample, Verdict, Verification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Comparable = ExportedProgram | str | os.PathLike[str] | Callable[..., Any]

ILLEGAL = 4
"""Of so many draws each clause is broken once."""
ATTEMPTS = 4
"""So often a legal call is drawn for a number until one is admitted."""


def verify(
    program: ExportedProgram | str | os.PathLike[str],
    module: Callable[..., Any] | None = None,
    *,
    samples: int = 20,
    seed: int = 0,
    handed_over: Any = None,
) -> Verification:
    """Call program and module with inputs that the contract admits, and compare what callers see.

    `program` may be a file. Without `module` its results are compared with those that the file
    holds as evidence: `save(program, file, extra_files=verify(program, module).extra_files)`.
    Parameters, buffers and the random generator are as before afterwards.

    `handed_over` is what another system made of the program: a session of ONNX Runtime, the name of
    a file (`.onnx`, `.xml` of OpenVINO, `.pte` of ExecuTorch, `.pt2` of AOTInductor, torch.export
    or ours), or any callable. It is called in the place of the program; its tensors are compared
    with the evidence; of a `module`, evidence is taken first.

    Units: `samples` is a number of legal calls, `seed` that of the generator which draws them.
    Raises: nothing-to-verify-against, extra-not-installed, what `load` raises; TypeError (neither
        a program nor a file), ValueError (no samples, or tensors of the meta device).
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples}")
    found, evidence = _read(program)
    if handed_over is not None:
        run = as_function(handed_over)
        if module is not None:
            evidence = _verified(found, module, samples, seed).evidence
        if evidence is None:
            raise problem("nothing-to-verify-against")
        return _against_evidence(found, evidence, run)
    if module is not None:
        return _verified(found, module, samples, seed)
    if evidence is None:
        raise problem("nothing-to-verify-against")
    return _against_evidence(found, evidence)


def compare(a: Comparable, b: Comparable, *, samples: int = 20, seed: int = 0) -> Verification:
    """Call `a` and `b` alike, and compare: programs, files, torch.export's programs, or functions.

    The inputs are drawn from the contract of `b`, or of `a` where `b` has none: `samples` legal
    calls, by a generator of this `seed`.

    Raises: nothing-to-verify-against (neither has a contract), ValueError (as `verify`).
    """
    one, other = _taken(a), _taken(b)
    if isinstance(other, ExportedProgram):
        return _verified(other, _callable(one), samples, seed)
    if isinstance(one, ExportedProgram):
        return _verified(one, other, samples, seed)
    raise problem("nothing-to-verify-against")


def _taken(value: Any) -> Any:
    if isinstance(value, str | os.PathLike):
        return load(value)
    is_torch = type(value).__module__.startswith("torch.export")
    return from_torch(value) if is_torch else value


def _callable(value: Any) -> Callable[..., Any]:
    return value.module() if isinstance(value, ExportedProgram) else value


def _read(program: Any) -> tuple[ExportedProgram, dict[str, Any] | None]:
    if isinstance(program, ExportedProgram):
        return program, None
    if not isinstance(program, str | os.PathLike):
        raise TypeError(f"a program or the name of a file, not {type(program).__name__}")
    texts = {EVIDENCE: ""} if f"extra/{EVIDENCE}" in open_container(Path(program)).members else {}
    found = load(Path(program), extra_files=texts)
    return found, _evidence(texts.get(EVIDENCE, ""))


def _evidence(text: str) -> dict[str, Any] | None:
    """What a file holds as evidence, if it is that."""
    with suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict) and kept_evidence.is_whole(found):
            return found
    return None


def _verified(
    program: ExportedProgram, module: Callable[..., Any], samples: int, seed: int
) -> Verification:
    tensors = leaves_of((program.state_dict, program.constants, program.example_inputs))
    if any(getattr(each, "is_meta", False) for each in tensors):
        raise ValueError("tensors of the meta device have no values: load the program's weights")
    run = program.module()
    inputs = LegalInputs(program, seed)
    comparison = _Comparison(module, run)
    found: list[Sample] = []
    results: list[Any] = []
    draws: list[Any] = []
    for draw in _legal(program, inputs, samples):
        sample = comparison.sample(draw, legal=True)
        found.append(sample)
        results.append(kept_evidence.fingerprints(comparison.latest))
        draws.append(draw.kept)
    for number in range(samples, samples + max(1, samples // ILLEGAL)):
        found.extend(comparison.sample(draw, legal=False) for draw in inputs.illegal(number))
    evidence = {
        "form": kept_evidence.FORM,
        "versions": kept_evidence.versions(),
        "samples": samples,
        "seed": seed,
        "draws": draws,
        "results": results,
    }
    return Verification(tuple(found), _state(module, program), evidence)


def _legal(program: ExportedProgram, inputs: LegalInputs, samples: int) -> Iterator[Draw]:
    """The example, then draws; where layout or flags are refused, a plain one of another size."""
    yield inputs.example()
    for number in range(1, samples):
        drawn = (inputs.draw(number, attempt) for attempt in range(ATTEMPTS))
        yield next((draw for draw in drawn if admits(program, draw)), inputs.draw(number, 1))


class _Comparison:
    """Calls both sides with each draw."""

    def __init__(self, module: Callable[..., Any], run: Callable[..., Any]) -> None:
        state = KeptState((module, run))
        self._module, self._run = Side(module, state), Side(run, state)
        self.latest: list[Outcome] = []

    def sample(self, draw: Draw, *, legal: bool) -> Sample:
        """Compare one call; `latest` is what the program gave."""
        actual = self.latest = self._run.outcomes(draw)
        if actual[0].refused:
            return Sample(draw.number, draw.text(), legal, "refused")
        expected = self._module.outcomes(draw)
        if expected[0].refused:  # a program too, which vouches for less
            return Sample(draw.number, draw.text(), legal, "refused")
        found = first_difference(expected, actual, lambda: self._bound(draw))
        raised = expected[-1].error is not None
        if found is None:
            return Sample(draw.number, draw.text(), legal, "both raise" if raised else "equal")
        if not raised and found.kind == "raises" and not draw.tied:
            # Sizes that only the module's habits relate, such as a mask of another batch: an
            # operator that does not take them refuses as well as the contract would.
            return Sample(draw.number, draw.text(), legal, "refused")
        again = self._module.outcomes(draw)
        if first_difference(expected, again, lambda: self._bound(draw)) is not None:
            return Sample(draw.number, draw.text(), legal, "varies")
        first = self._first(draw, found.kind, module_raises=raised)
        return Sample(draw.number, draw.text(), legal, "different", found, first)

    def _bound(self, draw: Draw) -> float:
        return rounding_bound(self._module.operators(draw).calls)

    def _first(self, draw: Draw, kind: str, *, module_raises: bool) -> Divergence | None:
        expected, actual = self._module.operators(draw), self._run.operators(draw)
        if kind != "raises":
            return divergence(expected.calls, actual.calls)
        return raising(expected, actual, module=module_raises)


def _state(module: Callable[..., Any], program: ExportedProgram) -> tuple[Difference, ...]:
    """Parameters and buffers that the program holds other numbers of."""
    if not isinstance(module, torch.nn.Module):
        return ()
    held = {**program.constants, **program.state_dict}
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    pairs = [(name, own[name], held[name]) for name in own if name in held]
    pairs = [each for each in pairs if not is_fake(each[1]) and not is_fake(each[2])]
    found = [compared(name, one.detach(), other.detach(), float) for name, one, other in pairs]
    return tuple([Difference("state", e.part, e.what) for e in found if e is not None])


def _against_evidence(
    program: ExportedProgram, evidence: dict[str, Any], instead: Callable[..., Any] | None = None
) -> Verification:
    inputs = LegalInputs(program, evidence["seed"])
    run, found = program.module() if instead is None else instead, list[Sample]()
    side = Side(run, KeptState((run,)))
    try:
        draws = list(inputs.again(evidence["draws"]))
    except ValueError:
        raise problem("nothing-to-verify-against") from None
    for draw, result in zip(draws, evidence["results"], strict=True):
        kept, actual = result, side.outcomes(draw)
        if instead is not None and kept is not None:  # other systems give tensors alone
            kept = [[each for each in call if "dtype" in each] for call in kept]
            for outcome in actual:
                outcome.leaves = [x for x in outcome.leaves if isinstance(x, torch.Tensor)]
        what = None if actual[0].refused else kept_evidence.difference(kept, actual)
        alike: Verdict = "equal" if actual[-1].error is None else "both raise"
        verdict = "refused" if actual[0].refused else alike if what is None else "different"
        found.append(Sample(draw.number, draw.text(), True, verdict, what))
    here, there = kept_evidence.versions(), evidence["versions"]
    notes = () if here == there else (f"the evidence was made with {there}; here is {here}",)
    return Verification(tuple(found), (), evidence, notes)


__all__ = ["compare", "verify"]
