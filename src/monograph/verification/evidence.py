"""Evidence of a verification: fingerprints of results, to compare with on another machine.

A fingerprint of a tensor is its type, a digest of its bytes, and some of its numbers: digests agree
where the kernels are the same, numbers within rounding where they are not.
"""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING, Any, Final, cast

import torch

from monograph.verification.comparison import Difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monograph.verification.outcomes import Outcome

FORM: Final = 2
NUMBERS: Final = 16
"""So many numbers of each tensor are kept, evenly spaced."""
CLOSE: Final[dict[torch.dtype, float]] = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
OTHERWISE: Final = 1e-3
"""Of the greatest number of a tensor: no operators are known here that could bound it closer."""


def is_whole(evidence: Mapping[str, Any]) -> bool:
    """Whether a file's evidence is of this form, in all that is read of it."""
    results, seed = evidence.get("results"), evidence.get("seed")
    if not isinstance(results, list) or not results or not isinstance(seed, int):
        return False
    has_versions = isinstance(evidence.get("versions"), dict)
    given = evidence.get("form"), evidence.get("samples"), len(_list(evidence.get("draws")))
    draws = all(map(_is_draw, _list(evidence.get("draws"))))
    calls = [call for each in results if each is not None for call in _list(each)]
    values = [value for call in calls for value in _list(call)]
    is_whole = given == (FORM, len(results), len(results)) and draws and has_versions
    return is_whole and all(map(_is_fingerprint, values))


def _list(value: Any) -> list[Any]:
    """The value, or what is no fingerprint, where it is no list."""
    return cast("list[Any]", value) if isinstance(value, list) else [[None]]


def _is_draw(value: Any) -> bool:
    if not isinstance(value, list) or len(draw := cast("list[Any]", value)) != 2:
        return False
    return all(isinstance(each, int) for each in [draw[0], *_list(draw[1])])


def _is_fingerprint(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kept: dict[str, Any] = value
    return "dtype" not in kept or all(
        map(_is_number, [*_list(kept.get("numbers")), kept.get("greatest")])
    )


def _is_number(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(float(text), float)
    except ValueError:
        return False


def versions() -> dict[str, str]:
    """What the fingerprints were made with."""
    return {
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def fingerprints(outcomes: Sequence[Outcome]) -> list[list[dict[str, Any]]] | None:
    """One per result of each call; None where one raises."""
    if any(outcome.error is not None for outcome in outcomes):
        return None
    return [[_fingerprint(leaf) for leaf in outcome.leaves] for outcome in outcomes]


def difference(
    kept: Sequence[Sequence[Any]] | None, outcomes: Sequence[Outcome]
) -> Difference | None:
    """How results differ from those that the fingerprints were made of."""
    error = next((each.error for each in outcomes if each.error is not None), None)
    if kept is None or error is not None:
        if kept is None and error is not None:
            return None
        what = "it raised there" if error is None else f"it raises {type(error).__name__}: {error}"
        return Difference("raises", "the call", what)
    for expected, outcome in zip(kept, outcomes, strict=True):
        if len(expected) != len(outcome.leaves):
            what = f"{len(expected)} values became {len(outcome.leaves)}"
            return Difference("structure", "the result", what)
        for index, (one, leaf) in enumerate(zip(expected, outcome.leaves, strict=True)):
            what = _unlike(one, _fingerprint(leaf), leaf)
            if what is not None:
                return Difference("values", f"result {index}", what)
    return None


def _fingerprint(leaf: Any) -> dict[str, Any]:
    if not isinstance(leaf, torch.Tensor):
        return {"value": repr(leaf) if isinstance(leaf, bool | int | float | str) else None}
    flat = leaf.detach().to_dense().reshape(-1)
    data = torch.empty(flat.shape, dtype=flat.dtype).copy_(flat).view(torch.uint8).numpy()
    numbers = _numbers(flat[:: max(1, flat.numel() // NUMBERS)][:NUMBERS])
    return {
        "dtype": str(leaf.dtype),
        "shape": list(leaf.shape),
        "sha256": hashlib.sha256(data.tobytes()).hexdigest(),
        "numbers": [repr(number) for number in numbers],
        "greatest": repr(max(map(abs, _numbers(flat)), default=0.0)),
    }


def _numbers(flat: torch.Tensor) -> list[float]:
    flat = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
    return flat.to(torch.float64).tolist()


def _unlike(kept: dict[str, Any], found: dict[str, Any], leaf: Any) -> str | None:
    for what in ("value", "dtype", "shape"):
        if kept.get(what) != found.get(what):
            return f"its {what} is {found.get(what)}, not {kept.get(what)}"
    if kept.get("sha256") == found.get("sha256"):
        return None
    if not (leaf.is_floating_point() or leaf.is_complex()):
        return "its numbers are others"
    close = CLOSE.get(leaf.dtype, OTHERWISE) * float(kept["greatest"])
    if len(kept["numbers"]) != len(found["numbers"]):
        return "its numbers are others"
    for one, other in zip(kept["numbers"], found["numbers"], strict=True):
        left, right = float(one), float(other)
        if left != right and not abs(left - right) <= close and left == left:  # noqa: PLR0124  (not NaN)
            return f"{right:.6g} became of {left:.6g}"
    return None


__all__ = ["FORM", "difference", "fingerprints", "is_whole", "versions"]
