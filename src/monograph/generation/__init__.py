"""Text generation: a library's language model as programs, and the loop that decodes with them.

    program = monograph.generation.export(model, max_batch=4, max_length=256)
    program.save("chat.pt2")
    monograph.generation.load("chat.pt2").generate(input_ids, max_new_tokens=50)

Whoever generates needs neither the library nor the model. Decision 0047.
"""

from __future__ import annotations

import typing

from monograph import lazy_imports

if typing.TYPE_CHECKING:
    from monograph.generation.decoding import DecodingState, GenerationProgram, load
    from monograph.generation.exporting import export
else:
    __getattr__, __dir__ = lazy_imports.attributes(
        __name__,
        {
            "DecodingState": "monograph.generation.decoding",
            "GenerationProgram": "monograph.generation.decoding",
            "export": "monograph.generation.exporting",
            "load": "monograph.generation.decoding",
        },
    )

__all__ = ["DecodingState", "GenerationProgram", "export", "load"]
