"""A work limit: how many steps one file may take to read, counted wherever work can multiply.

What a reader does for each byte once is bounded by the size of the file. Three things are not: a
value that a pickle remembers and uses again, arithmetic of expressions, and bytes that are made of
bytes. They charge one account, so that no mixture of them is unbounded either.
"""

from __future__ import annotations

from typing import Final

from monograph.archive.errors import Refused

STEPS: Final = 600_000
"""What any file may take, a second or two of Python, and one more for each byte described."""
DEEPEST: Final = 64
"""How many containers a value may have inside of each other."""


class Budget:
    """The steps that are left."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = STEPS

    def allow(self, size: int) -> None:
        """A description of so many bytes is read."""
        self.left += size

    def charge(self, steps: int) -> None:
        """Take steps away.

        Raises: Refused (there are not so many left).
        """
        self.left -= steps
        if self.left < 0:
            raise Refused("it takes more work to read than a file of its size may")


__all__ = ["DEEPEST", "Budget"]
