"""Passes from graph to graph, one idea a file.

Lowering: `decompose` makes a graph functional and takes its operators apart by the formulas of a
`DecompositionTable`. Rewrites are given to a program: `program.transform(passes.dead_code())`.
"""

from monograph.passes.decomposition.decompose import Decomposed, decompose
from monograph.passes.decomposition.table import (
    DecompositionTable,
    core_decompositions,
    default_decompositions,
)
from monograph.passes.formulas import facts_of_program
from monograph.passes.functionalization.view_sources import seen_through
from monograph.passes.rewrites.common_subexpressions import common_subexpressions
from monograph.passes.rewrites.dead_code import dead_code
from monograph.passes.rewrites.fold_batch_norm import fold_batch_norm
from monograph.passes.rewrites.fold_constants import fold_constants
from monograph.passes.rewrites.lift import lift
from monograph.passes.rewrites.move_to_device import move_to_device
from monograph.passes.rewrites.partition import Partition, partition
from monograph.passes.rewrites.program_copy import Held, Material, copied
from monograph.passes.rewrites.registry import REWRITES, Rewrite, rewrite
from monograph.passes.rewrites.replace_pattern import replace_pattern
from monograph.passes.rewrites.to_dtype import to_dtype

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
