"""Imported first: `monograph.bytecode` without the rest, for Pythons that have no torch.

`import monograph` imports torch. A package of that name with the same path, but without its own
code, lets its folders be imported alone.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

__all__ = ["SOURCE"]

SOURCE = Path(__file__).parents[2] / "src" / "monograph"

if "monograph" not in sys.modules:
    package = types.ModuleType("monograph")
    package.__path__ = [str(SOURCE)]
    sys.modules["monograph"] = package
