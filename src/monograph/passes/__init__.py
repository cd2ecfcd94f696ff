"""Passes from graph to graph, one idea a file.

Lowering: `decompose` makes a graph functional and takes its operators apart by the formulas of a
`DecompositionTable`. Rewrites are given to a program: `program.transform(passes.dead_code())`.
"""

from monograph.passes.common_subexpressions import common_subexpressions
from monograph.passes.dead_code import dead_code
from monograph.passes.decompose import Decomposed, decompose
from monograph.passes.decompositions import (
    DecompositionTable,
    core_decompositions,
    default_decompositions,
)
from monograph.passes.fold_batch_norm import fold_batch_norm
from monograph.passes.fold_constants import fold_constants
from monograph.passes.formulas import facts_of_program
from monograph.passes.lift import lift
from monograph.passes.material import Held, Material, copied
from monograph.passes.move_to_device import move_to_device
from monograph.passes.owners import seen_through
from monograph.passes.partition import Partition, partition
from monograph.passes.registry import REWRITES, Rewrite, rewrite
from monograph.passes.replace_pattern import replace_pattern
from monograph.passes.to_dtype import to_dtype

__all__ = [
    "REWRITES",
    "Decomposed",
    "DecompositionTable",
    "Held",
    "Material",
    "Partition",
    "Rewrite",
    "common_subexpressions",
    "copied",
    "core_decompositions",
    "dead_code",
    "decompose",
    "default_decompositions",
    "facts_of_program",
    "fold_batch_norm",
    "fold_constants",
    "lift",
    "move_to_device",
    "partition",
    "replace_pattern",
    "rewrite",
    "seen_through",
    "to_dtype",
]
