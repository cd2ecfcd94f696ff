"""Result types: one small function per operator, by family; importing this registers them all.

Every module below is imported, so a new family is a new file and nothing else.
"""

import importlib
import pkgutil

from monograph.abstract.tensor_type import TensorType, like
from monograph.rules.fallback import Memo, infer
from monograph.rules.registry import RULES, find_rule, rule

FAMILIES = tuple(
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(__path__, f"{__name__}.")
)

__all__ = ["FAMILIES", "RULES", "Memo", "TensorType", "find_rule", "infer", "like", "rule"]
