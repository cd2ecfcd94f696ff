"""Rewrites: passes that edit a copy of a program's graph in place, one idea a file.

Users hand them to `program.transform`; importing this folder registers each under its name.
"""

from monograph.passes.rewrites.common_subexpressions import common_subexpressions
from monograph.passes.rewrites.dead_code import dead_code
from monograph.passes.rewrites.fold_batch_norm import fold_batch_norm
from monograph.passes.rewrites.fold_constants import fold_constants
from monograph.passes.rewrites.lift import lift
from monograph.passes.rewrites.move_to_device import move_to_device, move_to_device_pass
from monograph.passes.rewrites.partition import Partition, partition
from monograph.passes.rewrites.program_copy import ProgramCopy, StateInput, copied
from monograph.passes.rewrites.registry import REWRITES, Rewrite, rewrite
from monograph.passes.rewrites.replace_pattern import replace_pattern
from monograph.passes.rewrites.to_dtype import to_dtype

__all__ = [
    "REWRITES",
    "Partition",
    "ProgramCopy",
    "Rewrite",
    "StateInput",
    "common_subexpressions",
    "copied",
    "dead_code",
    "fold_batch_norm",
    "fold_constants",
    "lift",
    "move_to_device",
    "move_to_device_pass",
    "partition",
    "replace_pattern",
    "rewrite",
    "to_dtype",
]
