"""Programs on disk: the PT2 archive, written and read without pickle.

`save` writes a file that stock PyTorch opens; `load` reads that, and what torch.export wrote.
"""

from __future__ import annotations

from monograph.archive.inspecting import inspection
from monograph.archive.loading import load, load_all
from monograph.archive.program_reading import program_of_schema
from monograph.archive.program_writing import conditions, schema_of, unsaid
from monograph.archive.saving import save

__all__ = [
    "conditions",
    "inspection",
    "load",
    "load_all",
    "program_of_schema",
    "save",
    "schema_of",
    "unsaid",
]
