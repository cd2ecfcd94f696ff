"""Checkpoints as state: tensors of safetensors files, mapped, under the names of a program.

Law: a shard that holds nothing of what is read is not opened, and no byte of a tensor is read
before somebody uses it. A checkpoint is of the program: it has all of its state, or nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.archive.files.external_weights import called_there
from monograph.archive.files.safetensors import files_of, read_file
from monograph.archive.files.weights import bytes_tensor
from monograph.diagnostics import problem

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection

    import torch

    from monograph.archive.files.safetensors import TensorEntry


def checkpoint_state(
    given: Mapping[str, torch.Tensor] | str | os.PathLike[str],
    state: Mapping[str, torch.Tensor],
    read: Collection[str],
    key: Callable[[str], str] | None = None,
) -> dict[str, torch.Tensor]:
    """The tensors for the names of `state`, on the devices where these are.

    `given` are they by the checkpoint's names, or a file or folder of them; `key` gives its name of
    a tensor. Of what is not in `read`, shards that are not there are passed over.

    Raises: weights-do-not-fit, archive-damaged, archive-invalid, archive-unsafe.
    """
    if isinstance(given, Mapping):
        called = _names(state, given, key)
        return {name: given[there] for name, there in called.items()}
    path = Path(given)
    places = files_of(path)
    if not places:
        raise problem("weights-do-not-fit", reason=f"there are no safetensors files in {path}")
    called = _names(state, places, key)
    opened: dict[Path, dict[str, TensorEntry]] = {}
    found: dict[str, torch.Tensor] = {}
    for name, there in called.items():
        file = places[there]
        if name not in read and not file.is_file():
            continue
        if file not in opened:
            opened[file] = read_file(file)
        if there not in opened[file]:
            reason = f"{file.name} has no `{there}`, which the index of the checkpoint names"
            raise problem("weights-do-not-fit", reason=reason)
        entry, device = opened[file][there], state[name].device
        tensor = bytes_tensor(entry.data, entry.dtype)
        tensor = tensor.view(entry.dtype) if tensor.numel() else tensor.to(entry.dtype)
        tensor = tensor.view(entry.shape)
        found[name] = tensor if device.type in {"cpu", "meta"} else tensor.to(device)
    return found


def _names(
    state: Mapping[str, torch.Tensor], there: Collection[str], key: Callable[[str], str] | None
) -> dict[str, str]:
    """What the checkpoint calls each tensor that it has.

    Raises: weights-do-not-fit.
    """
    found = called_there(state, there) if key is None else {name: key(name) for name in state}
    found = {name: each for name, each in found.items() if each in there}
    given = {id(state[name]) for name in found}  # one of the names of a tensor is enough
    missing = [
        name
        for name, tensor in state.items()
        if id(tensor) not in given and (key is None or tensor.is_meta)
    ]
    others = [name for name in there if name not in found.values()]
    if missing and others:
        reason = (
            f"`{missing[0]}` is not in the checkpoint, which has `{others[0]}`: "
            "give its names with `key=`"
        )
        raise problem("weights-do-not-fit", reason=reason)
    return found


__all__ = ["checkpoint_state"]
