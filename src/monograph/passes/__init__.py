"""Passes from graph to graph, one idea a file.

Lowering: `decompose` makes a graph functional and takes its operators apart by the formulas of a
`DecompositionTable`. Rewrites are given to a program: `program.transform(passes.dead_code())`.
"""

import typing

from monograph import lazy_imports

__all__ = [
    "REWRITES",
    "Decomposed",
    "DecompositionTable",
    "Partition",
    "ProgramCopy",
    "Rewrite",
    "StateInput",
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
    "move_to_device_pass",
    "partition",
    "replace_pattern",
    "rewrite",
    "to_dtype",
]

if typing.TYPE_CHECKING:
    from monograph.passes.decomposition.decompose import Decomposed, decompose
    from monograph.passes.decomposition.table import (
        DecompositionTable,
        core_decompositions,
        default_decompositions,
    )
    from monograph.passes.formulas import facts_of_program
    from monograph.passes.rewrites import (
        REWRITES,
        Partition,
        ProgramCopy,
        Rewrite,
        StateInput,
        common_subexpressions,
        copied,
        dead_code,
        fold_batch_norm,
        fold_constants,
        lift,
        move_to_device,
        move_to_device_pass,
        partition,
        replace_pattern,
        rewrite,
        to_dtype,
    )
else:
    # Lowering is a third of the folder; whoever rewrites or calls a program does without.
    __getattr__, __dir__ = lazy_imports.attributes(
        __name__,
        {
            **dict.fromkeys(__all__, "monograph.passes.rewrites"),
            "Decomposed": "monograph.passes.decomposition.decompose",
            "DecompositionTable": "monograph.passes.decomposition.table",
            "core_decompositions": "monograph.passes.decomposition.table",
            "decompose": "monograph.passes.decomposition.decompose",
            "default_decompositions": "monograph.passes.decomposition.table",
            "facts_of_program": "monograph.passes.formulas",
        },
    )
