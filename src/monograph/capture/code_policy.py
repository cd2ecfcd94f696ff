"""Code policy: whose code a file holds, and what of it is interpreted; its place alone decides."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from monograph.diagnostics.code_origin import is_installed, is_standard, standard_part


def _folder(package: Any) -> str:
    return f"{Path(package.__file__).parent}{os.sep}"


TORCH: Final = _folder(torch)
OURS: Final = f"{Path(__file__).parents[1]}{os.sep}"
INTERPRETER: Final = f"{OURS}bytecode{os.sep}"
"""What interprets user code, and calls for it."""
_INSTEAD: Final = (f"{OURS}generation{os.sep}", f"{INTERPRETER}polyfills{os.sep}in_python.py")
"""What calls a library's model in the user's place, and what stands for builtins."""
_NATIVE: Final = (OURS, _folder(np), "<frozen importlib", "<frozen zipimport")
_TEST_RUNNER: Final = re.compile(r"[\\/](?:site|dist)-packages[\\/](?:_pytest|pluggy)[\\/]")
"""What a test's `assert` and `import` call: it leads to the whole test session."""
_ENTERED: Final = (
    "distributions/",
    "nn/modules/",
    "nn/utils/parametrize.py",
    "nn/utils/parametrizations.py",
    "utils/_contextlib.py",
)
"""Files of PyTorch that call what users wrote, or check what data say."""
_MODULE: Final = "nn/modules/module.py"
_MODULE_CALLS: Final = frozenset({"_wrapped_call_impl", "_call_impl", "inner"})
_OPERATORS: Final = "_higher_order_ops/"
_FLATTENED: Final = frozenset(
    {"flat_body_fn", "flat_cond_fn", "wrap_combine_fn_flat", "wrapped_fn"}
)
"""Functions by which `while_loop`, `scan` and `map` call the user's with flat arguments."""
_STANDARD_NATIVE: Final = frozenset(
    {
        *("abc", "ast", "bdb", "cmd", "concurrent", "copy", "dataclasses", "enum", "importlib"),
        *("inspect", "json", "linecache", "logging", "pdb", "pickle", "re", "threading"),
        *("tokenize", "traceback", "typing", "unittest", "warnings", "weakref"),
    }
)
"""Modules of Python's library that no model's result depends on, and that look at frames."""


_NATIVE_NAMES: Final = frozenset({"__getattribute__", "set_trace"})
"""Of functions of installed packages that are not interpreted."""


@functools.cache
def is_entered(file: str, name: str) -> bool:
    """Whether a function of this file and name is interpreted.

    Not the `__getattribute__` of installed packages: every read of an attribute would go through
    it, and what it answers is noted in any case. Nor what starts debuggers.
    """
    if file.startswith(_NATIVE):
        return file.startswith(_INSTEAD)
    if _TEST_RUNNER.search(file):
        return False
    if file.startswith(TORCH):
        inside = file.removeprefix(TORCH).replace(os.sep, "/")
        if inside == _MODULE:
            return name in _MODULE_CALLS
        if inside.startswith(_OPERATORS):
            return name in _FLATTENED
        return inside.startswith(_ENTERED)
    inside = standard_part(file)
    if inside is not None:
        return inside.partition(os.sep)[0].removesuffix(".py") not in _STANDARD_NATIVE
    return name not in _NATIVE_NAMES or not is_installed(file)


@functools.cache
def is_library(file: str) -> bool:
    """Whether a file is PyTorch's or Python's: what it reads is its own business."""
    return file.startswith((TORCH, "<frozen ")) or is_standard(file)


@functools.cache
def is_users(file: str) -> bool:
    """Whether a file is the user's, or of a package that is neither PyTorch, NumPy nor pytest."""
    if file.startswith((TORCH, "<frozen ", *_NATIVE)) or _TEST_RUNNER.search(file):
        return False
    return not is_library(file)
