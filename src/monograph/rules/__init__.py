"""Result types: one small function per operator, by family; importing this registers them all.

Every file here is imported, so a new family is a new file and nothing else.
"""

import importlib
import pkgutil

from monograph.abstract.tensor_type import TensorType, like
from monograph.rules.fallback import Memo, infer
from monograph.rules.registry import RULES, find_rule, rule

FAMILIES = tuple(
    importlib.import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
)

__all__ = ["FAMILIES", "RULES", "Memo", "TensorType", "find_rule", "infer", "like", "rule"]
