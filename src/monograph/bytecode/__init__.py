"""An interpreter of CPython bytecode, in Python, that knows no tensors.

`Interpreter(hooks).call(function, ...)` runs a function as CPython does; the hooks say what is
entered, what is replaced, and see reads, writes and conditions. `interpret(function, ...)` runs it
with nobody watching.
"""

from __future__ import annotations

from monograph.bytecode.branches.frame_copies import stand_alike
from monograph.bytecode.evaluation.frame import MISSING, InterpreterFrame
from monograph.bytecode.evaluation.hooks import Hooks
from monograph.bytecode.evaluation.special_methods import ours
from monograph.bytecode.evaluation.symbolic_iterators import SymbolicIterable, SymbolicIterator
from monograph.bytecode.evaluation.tracing import begin as hide_from_tracers
from monograph.bytecode.evaluation.tracing import end as show_to_tracers
from monograph.bytecode.evaluation.tracing import hidden as hidden_from_tracers
from monograph.bytecode.evaluation.tracing import shown as shown_to_tracers
from monograph.bytecode.interpreter import Interpreter, interpret
from monograph.bytecode.own_builtins import keep_builtins

__all__ = [
    "MISSING",
    "Hooks",
    "Interpreter",
    "InterpreterFrame",
    "SymbolicIterable",
    "SymbolicIterator",
    "hidden_from_tracers",
    "hide_from_tracers",
    "interpret",
    "ours",
    "show_to_tracers",
    "shown_to_tracers",
    "stand_alike",
]

keep_builtins(__name__)
