"""Lists of models: read from TOML, a table of factories in Python, or a folder; and their keys.

A key is a digest of all that a result depends on: what the model is, the bytes of the file that it
comes from, the options, and the versions of what is installed. Nothing of the user's is imported.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from monograph.conversions import TARGETS
from monograph.diagnostics import nearest
from monograph.factories import NotThereError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Kind = Literal["factory", "script", "file", "transformers"]
KINDS: Final = ("factory", "script", "file", "transformers", "table")
"""What a model is named by; a table is as many models as it has factories."""
TABLE: Final = "models"
"""What a Python file calls its table of factories."""


@dataclass(frozen=True, slots=True)
class SweptModel:
    """One model of a list, and what is asked of it. `entry` is a key of a table.

    `seconds` are of processor time, `memory` is resident, in GB.
    """

    name: str
    kind: Kind
    place: str
    entry: str = ""
    config: tuple[str, ...] = ()
    dynamic: str | None = None
    strict: bool = True
    samples: int = 8
    convert: tuple[str, ...] = ()
    seconds: float = 600
    memory: float | None = None


OPTIONS: Final = ("dynamic", "strict", "samples", "convert", "seconds", "memory")
"""What a list says for all of its models, under `[sweep]`, or for one."""


def read_models(
    where: str | Path | Mapping[str, Any],
    names_in: Callable[[str], list[str]],
    given: Mapping[str, Any],
) -> list[SweptModel]:
    """The models of a list. `names_in` looks into tables of factories; `given` are options for all.

    Raises: NotThereError (no such file, not understood, a name twice, no model).
    """
    _check("a sweep", given, OPTIONS)
    if isinstance(where, str | Path):
        found = [*_of_path(Path(where), names_in, given)]
    else:
        found = [*_of_tables(where, Path(), names_in, given)]
    names = [each.name for each in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not found:
        said = f"names of models twice: {', '.join(twice)}" if twice else f"no model in {where}"
        raise NotThereError(said)
    return found


def _of_path(
    path: Path, names_in: Callable[[str], list[str]], given: Mapping[str, Any]
) -> Iterator[SweptModel]:
    if path.is_dir():
        for each in sorted(path.iterdir()):
            if each.suffix in {".toml", ".py", ".pt2"} and each.is_file():
                for model in _of_path(each, names_in, given):
                    alone = model.name == each.stem
                    yield model if alone else replace(model, name=f"{each.stem}/{model.name}")
        return
    if not path.is_file():
        raise NotThereError(f"there is no {path}")
    if path.suffix == ".toml":
        own, tables = _read_toml(path)
        options = {name: value for name, value in own.items() if name != "preload"}
        yield from _of_tables(tables, path.parent, names_in, {**options, **given})
    elif path.suffix == ".pt2":
        yield from _of_tables({path.stem: {"file": str(path)}}, Path(), names_in, given)
    elif path.suffix == ".py":
        kind = _kind_of_source(path)
        table = {"table": f"{path}:{TABLE}"} if kind == "table" else {"script": str(path)}
        yield from _of_tables({path.stem: table} if kind else {}, Path(), names_in, given)
    else:
        raise NotThereError(f"models are listed in .toml, .py or a folder; not in {path}")


def _read_toml(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a list says for all models, and the tables of the models."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NotThereError(f"{path}: {error}") from None
    own, tables = read.get("sweep", {}), read.get("models", {})
    if not isinstance(own, dict) or not isinstance(tables, dict):
        raise NotThereError(f"{path}: write [sweep], and [models.NAME] for each model")
    _check(f"{path}: [sweep]", own, (*OPTIONS, "preload"))
    if not isinstance(own.get("preload", []), list):
        raise NotThereError(f"{path}: preload is a list of modules")
    return own, tables


def _kind_of_source(path: Path) -> str:
    """Whether a file has a table of factories, or exports by itself, or neither."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise NotThereError(f"{path}: {error}") from None
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        if TABLE in names or getattr(node, "name", None) == TABLE:
            return "table"
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {getattr(each, "attr", getattr(each, "id", "")) for each in called}
    return "script" if "export" in named else ""


def _of_tables(
    tables: Mapping[str, Any],
    folder: Path,
    names_in: Callable[[str], list[str]],
    given: Mapping[str, Any],
) -> Iterator[SweptModel]:
    for name, written in tables.items():
        table = {"factory": written} if isinstance(written, str) else written
        about = f"model {name!r}"
        if not isinstance(table, dict):
            raise NotThereError(f"{about}: write a table, or the place of a factory")
        _check(about, table, (*KINDS, "config", *OPTIONS))
        kinds: list[Any] = [each for each in KINDS if each in table]
        if len(kinds) != 1:
            raise NotThereError(f"{about}: name one of {', '.join(KINDS)}")
        (kind,) = kinds
        options = {each: table[each] for each in OPTIONS if each in table}
        options = _typed(about, {**given, **options})
        place = _resolved(kind, table[kind], folder)
        if kind == "table":
            for entry in names_in(place):
                one = name == Path(place.rpartition(":")[0]).stem
                called = entry if one else f"{name}/{entry}"
                yield SweptModel(called, "factory", place, entry, **options)
            continue
        config: Any = table.get("config", ())
        if isinstance(config, dict):
            config = [f"{key}={value}" for key, value in config.items()]
        yield SweptModel(name, kind, place, config=tuple(config), **options)


def _check(about: str, table: Any, known: tuple[str, ...]) -> None:
    for name in table if isinstance(table, dict) else ():
        if name not in known:
            near = nearest(name, known)
            raise NotThereError(f"{about} has no {name!r}" + (f"; {near!r}?" if near else ""))


_TYPES: Final[Mapping[str, Any]] = {
    "dynamic": (str,),
    "strict": (bool,),
    "samples": (int,),
    "convert": (list, tuple),
    "seconds": (int, float),
    "memory": (int, float),
}


def _typed(about: str, options: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {k: value for k, value in options.items() if value is not None}
    for name, value in found.items():
        kinds = _TYPES[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            said = " or ".join([each.__name__ for each in kinds])
            raise NotThereError(f"{about}: {name} is {value!r}; write a {said}")
        if name in {"seconds", "memory"} and value <= 0:
            raise NotThereError(f"{about}: {name} is {value!r}; write more than 0")
    for target in found.get("convert", ()):
        if target not in TARGETS:
            raise NotThereError(f"{about}: programs are converted to {', '.join(TARGETS)}")
    return found | {"convert": tuple(found.get("convert", ()))}


def _resolved(kind: str, place: Any, folder: Path) -> str:
    """Files are named relative to the list that names them."""
    text = str(place)
    file, colon, attribute = (
        text.rpartition(":") if kind in {"factory", "table"} else (text, "", "")
    )
    is_file = kind in {"script", "file"} or file.endswith(".py")
    return f"{folder / file}{colon}{attribute}" if is_file else text


def preloaded(where: Any) -> list[str]:
    """The modules that a list wants imported once, not by every model: `preload` of `[sweep]`."""
    is_list = isinstance(where, str | Path) and Path(where).suffix == ".toml"
    if not is_list or not Path(where).is_file():
        return []
    return [str(each) for each in _read_toml(Path(where))[0].get("preload", ())]


def task_of(model: SweptModel, exporter: str, *, keep: str = "") -> dict[str, Any]:
    """What a process is asked to do with a model, as JSON has it, with its key."""
    task = {each.name: getattr(model, each.name) for each in fields(model)}
    task |= {"exporter": exporter, "keep": bool(keep)}
    name = task.pop("name")
    depends = {**task, "source": _source_digest(model), "versions": versions()}
    key = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:32]
    return {**task, "name": name, "key": key, "keep": f"{keep}/{key}" if keep else ""}


def _source_digest(model: SweptModel) -> str:
    """Of the file that a model comes from; "" where there is none."""
    if model.kind == "transformers":
        return ""
    name = model.place.rpartition(":")[0] if model.kind == "factory" else model.place
    is_file = model.kind != "factory" or name.endswith(".py")
    path = name if is_file else _origin(name)
    if path is None or not Path(path).is_file():
        return ""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _origin(name: str) -> str | None:
    """The file of a module, found without importing its packages."""
    path: Any = None
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
        if end == len(parts):
            return spec.origin
    return None


@cache
def versions() -> dict[str, str]:
    """Of Python and torch, and digests of our own sources and of all installed packages."""
    own = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        own.update(path.read_bytes())
    installed = sorted({f"{each.name}=={each.version}" for each in distributions()})
    torch = next((each for each in installed if each.startswith("torch==")), "torch")
    return {
        "python": platform.python_version(),
        "torch": torch.partition("==")[2],
        "monograph": own.hexdigest()[:16],
        "installed": hashlib.sha256("\n".join(installed).encode()).hexdigest()[:16],
    }


__all__ = ["OPTIONS", "SweptModel", "preloaded", "read_models", "task_of", "versions"]
