"""Passes from graph to graph, one idea a file.

Lowering: `decompose` makes a graph functional and takes its operators apart by the formulas of a
`DecompositionTable`.
"""

from monograph.passes.decompose import Decomposed, decompose, seen_through
from monograph.passes.decompositions import DecompositionTable, default_decompositions
from monograph.passes.formulas import facts_of_program

__all__ = [
    "Decomposed",
    "DecompositionTable",
    "decompose",
    "default_decompositions",
    "facts_of_program",
    "seen_through",
]
