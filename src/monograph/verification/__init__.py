"""Verification: differential tests of programs over inputs drawn from their contracts.

    found = monograph.verify(program, module)
    assert found, found

Decision 0044.
"""

from __future__ import annotations

from monograph.verification.comparison import Difference
from monograph.verification.divergence import Divergence
from monograph.verification.verdict import Sample, Verification
from monograph.verification.verify import compare, verify

__all__ = ["Difference", "Divergence", "Sample", "Verification", "compare", "verify"]
