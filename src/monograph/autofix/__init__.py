"""Automatic program repair: the edits that diagnostics offer, tried and applied to source files.

    found = fix("model.py:make", accept=lambda proposal: input(proposal.diff) == "y")

A model is exported in a process of its own, with edits in the place of what the files hold
(`attempts`, `edited_sources`). An edit is proposed only after it was tried, and files are written
last (`search`). Decision 0046.
"""

from __future__ import annotations

from monograph.autofix.search import Fixed, Proposal, fix

__all__ = ["Fixed", "Proposal", "fix"]
