"""An interpreter of CPython bytecode, in Python, that knows no tensors.

`Interpreter(watcher).call(function, ...)` runs a function as CPython does; the watcher says what is
entered, what is replaced, and sees reads, writes and conditions. `interpret(function, ...)` runs it
with nobody watching.
"""

from __future__ import annotations

from monograph.bytecode.frame import MISSING, Frame
from monograph.bytecode.independence import keep_builtins
from monograph.bytecode.interpreter import Interpreter, interpret
from monograph.bytecode.lookups import ours
from monograph.bytecode.rounds import Rounds, Source
from monograph.bytecode.snapshots import stand_alike
from monograph.bytecode.watcher import Watcher

__all__ = [
    "MISSING",
    "Frame",
    "Interpreter",
    "Rounds",
    "Source",
    "Watcher",
    "interpret",
    "ours",
    "stand_alike",
]

keep_builtins(__name__)
