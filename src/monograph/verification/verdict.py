"""The result of a verification: a verdict per call, as text, JSON and HTML."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from monograph.pages.document_page import tables_body, tables_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.verification.comparison import Difference
    from monograph.verification.divergence import Divergence

Verdict = Literal["equal", "different", "refused", "both raise", "varies"]
"""`varies`: the module itself gives something else each time, as what reads fresh memory does."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Call `number`, from 0: what it was, how it ended; the contract admits it if it is `legal`."""

    number: int
    call: str
    legal: bool
    verdict: Verdict
    difference: Difference | None = None
    divergence: Divergence | None = None

    @property
    def is_right(self) -> bool:
        """Whether the program did what the module does, or refused."""
        return self.verdict != "different"


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` and `compare` return; true where calls were compared and none differs.

    `state` are differences of parameters and buffers. `evidence` is what `evidence_file` writes.
    """

    samples: tuple[Sample, ...]
    state: tuple[Difference, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        some = any(sample.legal and sample.verdict == "equal" for sample in self.samples)
        return some and not self.state and all(sample.is_right for sample in self.samples)

    @property
    def differences(self) -> tuple[Sample, ...]:
        """The calls that came out otherwise."""
        return tuple(sample for sample in self.samples if not sample.is_right)

    @property
    def extra_files(self) -> dict[str, str]:
        """The evidence as an extra file of an archive, for `save(..., extra_files=...)`."""
        return {EVIDENCE: json.dumps(self.evidence)}

    def summary(self) -> str:
        """One line: how many calls of each kind, and whether the program is right."""
        legal = [sample for sample in self.samples if sample.legal]
        illegal = len(self.samples) - len(legal)
        compared = sum(sample.verdict == "equal" for sample in legal)
        wrong = len(self.differences) + len(self.state)
        refused = sum(sample.verdict == "refused" for sample in self.samples if not sample.legal)
        found = "no difference" if compared else "nothing was compared"
        found = f"{wrong} different" if wrong else found
        return (
            f"{found}: {compared} of {len(legal)} legal calls compared equal, "
            f"{refused} of {illegal} illegal calls refused"
        )

    def __str__(self) -> str:
        lines = [self.summary(), *[f"  {note}" for note in self.notes]]
        lines += [f"  {each}" for each in self.state]
        for sample in self.differences[:SHOWN]:
            lines.append(f"  call {sample.number} ({sample.call})")
            lines.append(f"    {sample.difference}")
            if sample.divergence is not None:
                lines.append(f"    first at {sample.divergence}")
        if len(self.differences) > SHOWN:
            lines.append(f"  and {len(self.differences) - SHOWN} calls more")
        return "\n".join(lines)

    def as_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(
            {
                "right": bool(self),
                "summary": self.summary(),
                "notes": list(self.notes),
                "state": [_difference_json(each) for each in self.state],
                "samples": [_sample_json(each) for each in self.samples],
            },
            indent=1,
        )

    def as_html(self) -> str:
        """One page that needs nothing else: a row per call, to search and sort."""
        return tables_page("Verification", [self.summary(), *self.notes], self._tables())

    def _repr_html_(self) -> str:
        return tables_body([self.summary(), *self.notes], self._tables())

    def _tables(self) -> list[tuple[str, Sequence[str], list[Sequence[object]]]]:
        rows: list[Sequence[object]] = [
            (
                each.number,
                each.call,
                "yes" if each.legal else "no",
                each.verdict,
                each.difference or "",
                each.divergence or "",
            )
            for each in self.samples
        ]
        rows += [("", "state", "", "different", each, "") for each in self.state]
        return [("", ("#", "call", "legal", "verdict", "what", "first operator"), rows)]


SHOWN = 3
"""So many calls that came out otherwise are printed; all are in JSON and HTML."""
EVIDENCE = "verification.json"
"""The extra file of an archive that holds the evidence."""


def _difference_json(difference: Difference) -> dict[str, str]:
    return {"kind": difference.kind, "part": difference.part, "what": difference.what}


def _sample_json(sample: Sample) -> dict[str, Any]:
    found: dict[str, Any] = {
        "number": sample.number,
        "call": sample.call,
        "legal": sample.legal,
        "verdict": sample.verdict,
    }
    if sample.difference is not None:
        found["difference"] = _difference_json(sample.difference)
    if sample.divergence is not None:
        at = sample.divergence
        found["divergence"] = {"operator": at.operator, "file": at.file, "line": at.line}
    return found


__all__ = ["EVIDENCE", "Sample", "Verdict", "Verification"]
