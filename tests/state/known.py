"""Programs that plain capture gets wrong today though it could see them; the list shrinks."""

KNOWN: dict[str, str] = {}

ADVANCED = frozenset({"IteratorAdvances", "GeneratorAdvances", "global_iterator_advances"})
"""Refused only after the fact: no iterator of Python's can be put back to where it was."""
