"""Optional packages that some hand-overs need: imported when asked for, missed by name."""

from __future__ import annotations

from importlib.util import find_spec

from monograph.diagnostics import problem


def need(extra: str, *packages: str) -> None:
    """Hold that the packages of an extra are installed.

    Raises: extra-not-installed.
    """
    missing = [each for each in packages if not has(each)]
    if missing:
        raise problem("extra-not-installed", extra=extra, packages=missing)


def has(package: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(package) is not None


__all__ = ["has", "need"]
