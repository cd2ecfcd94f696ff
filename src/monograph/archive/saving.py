"""Saving: programs, their weights and their contracts into one file that is replaced at once.

Law: the same programs give the same bytes, in any process. The file under the name is whole at
every moment: the old one, or the new one. Before it is replaced it was read back, and the program
read ran on the examples as the one saved does.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import torch

from monograph.archive.errors import Refused
from monograph.archive.files.atomic_replacement import replacing
from monograph.archive.files.external_weights import external_weights
from monograph.archive.files.pickle_writing import pickled
from monograph.archive.files.weights import WeightsPlanner, block_bytes, with_gradients
from monograph.archive.files.zip_writing import ZipWriter
from monograph.archive.loading import MODEL, load
from monograph.archive.program_writing import cannot_hold, program_json, unsaid
from monograph.archive.round_trip import check_round_trip
from monograph.archive.schema.graph_writing import SidecarValues
from monograph.archive.schema.json_fields import is_state_name
from monograph.archive.schema.symbols import SymbolWriter
from monograph.archive.sidecar import sidecar_json
from monograph.archive.source_paths import SourcePaths
from monograph.archive.torch_export_limits import unreadable_there
from monograph.archive.versions import ARCHIVE_VERSION, opsets
from monograph.diagnostics import problem
from monograph.host.trees import flatten, has_objects, leaves_of
from monograph.integers import Facts
from monograph.keyword_aliases import also_named
from monograph.lazy_imports import deferred
from monograph.program import ExportedProgram
from monograph.program.transforms.state_assignment import without_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from monograph.archive.files.external_weights import ExternalWeights
    from monograph.archive.files.weights import WeightsPlan
    from monograph.archive.schema.values import Json
    from monograph.archive.source_paths import PathsKept

_verify = deferred("monograph.verification:verify")

_LOGGER = logging.getLogger("monograph.archive")
ROOT: Final = "archive"
OURS: Final = "monograph."
PICKLE_PROTOCOL: Final = 2
MOST_EXAMPLES: Final = 64 << 20
"""Example inputs of more bytes, such as caches of a large model, are not written."""


@also_named(program="ep", file="f")
def save(
    ep: ExportedProgram | Mapping[str, ExportedProgram],
    f: str | os.PathLike[str] | IO[bytes],
    *,
    extra_files: Mapping[str, str] | None = None,
    opset_version: Mapping[str, int] | None = None,
    pickle_protocol: int = PICKLE_PROTOCOL,
    verify: bool = True,
    weights: str | os.PathLike[str] | Literal[False] | None = None,
    source_paths: PathsKept = "relative",
    module: Callable[..., Any] | None = None,
) -> None:
    """Write a program, or several by name, into one `.pt2` file.

    With `weights`, a safetensors file or a folder relative to the program's, weights lie there and
    not in the program's file. One that is there is used as it is, be it another program's or a
    checkpoint of Hugging Face; it must hold the same numbers. Only `monograph.load` reads such a
    program. With `weights=False` parameters and persistent buffers are left out: `with_state` gives
    a program that was loaded its weights.

    What torch.export does not check where it reads the file is logged, as information, and so is
    why it cannot read it.

    `extra_files` are texts that `load` gives back. Unless `verify` is False, the file is read back
    and the program in it is run on the example inputs beside this one, before the file is replaced.
    Where the `module` is at hand and given, the program is compared with it before that, on inputs
    drawn from the contract (`monograph.verify`), and the evidence is kept in the file.

    Lines of source are kept with files as Python finds them from its import path, or from the
    working folder. With `source_paths="all"` paths are absolute, as on this machine; with "none"
    no file and no line of code is named.

    `opset_version` is written beside the version of `aten`, which is not for callers to choose.
    `pickle_protocol` is the newest that whoever reads the file knows; examples are written in 2.

    Raises: archive-cannot-hold, archive-unknown-type, archive-unlike-module, wrong-after-saving;
        TypeError (no program), ValueError (a module for several programs).
    """
    programs = _by_name(ep)
    if verify and module is not None:
        extra_files = {**_evidence(ep, module), **(extra_files or {})}
    written = without_data(programs) if weights is False else programs
    beside = Path(f).parent if isinstance(f, str | os.PathLike) else None
    elsewhere = external_weights(Path(weights), beside) if weights else None
    if _LOGGER.isEnabledFor(logging.INFO):
        for name, each in programs.items():
            for condition in unsaid(each):
                _LOGGER.info("%s: torch.export does not check %s", name, condition)
            for reason in unreadable_there(each):
                _LOGGER.info("%s: torch.export cannot use the file: %s", name, reason)
    made: list[Path] = []
    try:
        _check_protocol(pickle_protocol)
        paths = SourcePaths(source_paths)
        parts = _Parts(written, extra_files or {}, opsets(opset_version or {}), paths, elsewhere)
    except Refused as refused:
        raise cannot_hold(refused) from None
    if elsewhere is not None:
        made = elsewhere.write()
        parts.locate(elsewhere)
    try:
        _written(parts, programs, f, elsewhere, verify=verify)
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        raise


def _by_name(ep: Any) -> dict[str, ExportedProgram]:
    if isinstance(ep, ExportedProgram):
        return {MODEL: ep}
    if isinstance(ep, Mapping):
        return {**ep}
    raise TypeError(
        f"`save` takes an ExportedProgram, or several by name, not {type(ep).__qualname__!r}:"
        " `monograph.from_torch(program)` makes one of torch.export's"
    )


def _evidence(program: Any, module: Callable[..., Any]) -> Mapping[str, str]:
    """What a verification beside the module leaves for those who have the file alone."""
    if not isinstance(program, ExportedProgram):
        several = "one module is compared with one program; save several without it"
        raise ValueError(several)  # noqa: TRY004  (which of the two is wrong, nobody knows)
    found = _verify(program, module)
    if found.differences or found.state:
        raise problem("archive-unlike-module", found=str(found))
    return found.extra_files


def _check_protocol(newest: int) -> None:
    if newest < PICKLE_PROTOCOL:
        raise Refused(f"examples are pickled in protocol {PICKLE_PROTOCOL}, not {newest}")


def _written(
    parts: _Parts,
    programs: Mapping[str, ExportedProgram],
    file: str | os.PathLike[str] | IO[bytes],
    elsewhere: ExternalWeights | None,
    *,
    verify: bool,
) -> None:
    weights = None if elsewhere is None else elsewhere.path
    if isinstance(file, str | os.PathLike):
        _replace(Path(file), parts, programs, weights, verify=verify)
        return
    with tempfile.TemporaryDirectory() as folder:
        beside = Path(folder) / "program.pt2"
        _replace(beside, parts, programs, weights, verify=verify)
        with beside.open("rb") as written:
            shutil.copyfileobj(written, file, 1 << 20)


def _replace(
    path: Path,
    parts: _Parts,
    programs: Mapping[str, ExportedProgram],
    weights: Path | None,
    *,
    verify: bool,
) -> None:
    """Write beside the file, check, and put it in the file's place; leave nothing behind."""
    with replacing(path) as (file, beside):
        parts.write(file)
        file.flush()
        if verify:
            for model, program in programs.items():
                check_round_trip(program, load(beside, model=model, weights=weights))


class _Parts:
    """Everything that is written, but for the bytes of weights, which stay where they are."""

    def __init__(
        self,
        programs: Mapping[str, ExportedProgram],
        extra_files: Mapping[str, str],
        opset_version: Mapping[str, int],
        paths: SourcePaths,
        elsewhere: ExternalWeights | None = None,
    ) -> None:
        self.models: list[tuple[str, WeightsPlan, bytes, bytes, Json]] = []
        self.extra_files = extra_files
        planner = WeightsPlanner()
        for name, program in programs.items():
            if not name.isidentifier():
                raise Refused(f"{name!r} is no name for a program; it must be an identifier")
            planner.cover(_tensors(program))
        for name, program in programs.items():
            beside = SidecarValues(paths)
            model = _model(program, planner, opset_version, beside, elsewhere)
            self.models.append((name, *model))
        self._keep_needed(planner)
        for name in extra_files:
            if name.startswith(OURS) or not all(part.strip(". ") for part in name.split("/")):
                raise Refused(f"{name!r} is no name for an extra file")

    def _keep_needed(self, planner: WeightsPlanner) -> None:
        """Write what one program found outside of the file, and another did not."""
        plans = [plan for _, plan, _, _, _ in self.models]
        written = {f"data/{each.folder}/{each.path}" for plan in plans for each in plan.blocks}
        for block in planner.blocks.values():
            member = f"data/{block.folder}/{block.path}"
            for plan in plans:
                if member not in written and plan.needs(block.folder, block.path):
                    plan.blocks.append(block)
                    written.add(member)

    def locate(self, elsewhere: ExternalWeights) -> None:
        """Enter into our records which files hold what is not in this one."""
        for _, _, _, _, side in self.models:
            side["outside"] = elsewhere.located(side["outside"])

    def write(self, file: IO[bytes]) -> None:
        """Write every member, weights first, each from where it lies; the others are deflated."""
        members = ZipWriter(file, ROOT)
        for folder in ("weights", "constants"):
            for name, plan, _, _, _ in self.models:
                for block in plan.blocks:
                    if block.folder == folder:
                        members.write(f"data/{folder}/{block.path}", block_bytes(block))
                config = json_bytes({"config": plan.configs.get(folder, {})})
                members.write(f"data/{folder}/{name}_{folder}_config.json", config, deflated=True)
        for name, _, program, examples, _ in self.models:
            members.write(f"models/{name}.json", program, deflated=True)
            members.write(f"data/sample_inputs/{name}.pt", examples, deflated=True)
        for name, _, _, _, side in self.models:
            members.write(f"extra/{OURS}{name}.json", json_bytes(side), deflated=True)
        for name, content in self.extra_files.items():
            members.write(f"extra/{name}", content.encode(), deflated=True)
        members.write("archive_format", b"pt2")
        members.write("archive_version", ARCHIVE_VERSION.encode())
        members.write(".data/version", b"6\n")
        members.write("byteorder", b"little")
        members.close()


def json_bytes(value: Any) -> bytes:
    """A member's JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _model(
    program: ExportedProgram,
    planner: WeightsPlanner,
    opset_version: Mapping[str, int],
    beside: SidecarValues,
    elsewhere: ExternalWeights | None,
) -> tuple[WeightsPlan, bytes, bytes, Json]:
    state = _tensors(program)
    plan = planner.plan(state)
    with_gradients(plan, state)
    taken = None if elsewhere is None else elsewhere.take(plan, program.state_dict)
    symbols = SymbolWriter(Facts() if program.facts is None else program.facts)
    written = json_bytes({**program_json(program, symbols, beside), "opset_version": opset_version})
    side = sidecar_json(program, symbols, zlib.crc32(written), plan.aliases, beside, taken)
    return plan, written, _examples(program), side


def _tensors(program: ExportedProgram) -> dict[str, Mapping[str, Any]]:
    for name in (*program.state_dict, *program.constants):
        if not is_state_name(name):
            raise Refused(f"a tensor is called {name[:80]!r}")
    return {"weights": program.state_dict, "constants": program.constants}


def _examples(program: ExportedProgram) -> bytes:
    """The example inputs, or nothing where they are large, or of a kind that only pickle holds."""
    if program.example_inputs is None:
        return b""
    examples = program.example_inputs
    tensors = [each for each in leaves_of(examples) if isinstance(each, torch.Tensor)]
    if sum(each.nbytes for each in tensors if each.layout is torch.strided) > MOST_EXAMPLES:
        return b""
    if has_objects(program.in_spec):
        examples = (tuple(flatten(examples)[0]), {})
    try:
        return pickled(examples)
    except Refused:
        return b""


__all__ = ["json_bytes", "save"]
