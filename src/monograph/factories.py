"""Factories of models, named in text: `package.module:attribute`, or `file.py:attribute`."""

from __future__ import annotations

import importlib.util
import sys
from ast import literal_eval
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class NotThereError(Exception):
    """What a command names is not there; the text says what."""


@dataclass(frozen=True, slots=True)
class Made:
    """A module, and what it is exported at."""

    module: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    dynamic_shapes: Any = None


def made(place: str) -> Made:
    """What stands at a place: a module, or a function that makes one.

    The function gives the module, or `(module, args)`, or `(module, args, kwargs, dynamic_shapes)`.

    Raises: NotThereError; what the function raises.
    """
    return made_of(factory(place), place)


def made_of(found: Any, place: str) -> Made:
    """The same of an object that stands there.

    Raises: NotThereError; what the function raises.
    """
    if not hasattr(found, "forward") or isinstance(found, type):
        if not callable(found):
            raise NotThereError(f"{place} is neither a module nor a function that makes one")
        found = found()
    parts: tuple[Any, ...] = found if isinstance(found, tuple) and found else (found,)
    if not hasattr(parts[0], "forward"):
        raise NotThereError(f"{place} gives no module, but {type(parts[0]).__name__}")
    return Made(*parts[:4])


def of_transformers(name: str, settings: Sequence[str]) -> Made:
    """A model of Hugging Face's transformers with random weights, and its own dummy inputs.

    `settings` are those of its configuration, as `name=value`; nothing is downloaded.

    Raises: NotThereError (no such class, setting or package).
    """
    try:
        kind: Any = getattr(import_module("transformers"), name)
        config: Any = kind.config_class(**dict(map(_setting, settings)))
        module: Any = kind(config).eval()
    except ImportError as error:
        raise NotThereError(f"this needs transformers: {error}") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise NotThereError(f"transformers.{name} cannot be made of that: {error}") from None
    inputs = dict(module.dummy_inputs)
    return Made(module, (), {name: value for name, value in inputs.items() if value is not None})


def _setting(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise NotThereError(f"write a setting as name=value; not {text}")
    try:
        return name, literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def factory(place: str) -> Any:
    """The object that a place names.

    Raises: NotThereError; what importing it raises.
    """
    name, _, attribute = place.rpartition(":")
    if not name:
        raise NotThereError(f"write package.module:attribute, or file.py:attribute; not {place}")
    try:
        module = _of_file(Path(name)) if name.endswith(".py") else _imported(name)
        return getattr(module, attribute)
    except (ImportError, AttributeError) as error:
        raise NotThereError(f"there is no {place}: {error}") from None


def _imported(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return import_module(name)


def _of_file(path: Path) -> Any:
    if not path.is_file():
        raise NotThereError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "a path that ends with .py has a loader"
    assert spec.loader is not None, "as above"
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


__all__ = ["Made", "NotThereError", "factory", "made", "made_of", "of_transformers"]
