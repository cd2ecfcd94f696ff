"""The generation record: what of a model the loop needs beside its programs, kept in their file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive.errors import Refused
from monograph.archive.schema.values import dtype_code, dtype_of
from monograph.diagnostics import problem
from monograph.generation.beam_search import BeamOptions
from monograph.generation.sampling import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FORMAT: Final = 1
MEMBER: Final = "generation.json"
"""The name of the record among the extra files of an archive."""
TOKEN_LISTS: Final = ("forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens")
BATCH: Final = -1
"""Stands for the batch in the shapes and the numbers of an empty cache."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the loop needs.

    `masks_ahead` tells whether masks have the length of the cache. `initial` are the parts of an
    empty static cache: a dtype and a shape, or a number. `total_length` is the
    model's `max_length`.
    """

    cache: str
    masks_ahead: bool
    has_encoder: bool
    max_batch: int
    max_length: int
    vocab_size: int
    eos_token_ids: tuple[int, ...] = ()
    pad_token_id: int | None = None
    start_token_id: int | None = None
    prompt_inputs: tuple[str, ...] = ()
    initial: tuple[Any, ...] = ()
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    min_length: int = 0
    min_new_tokens: int = 0
    forced_bos_token_id: int | None = None
    forced_eos_token_id: tuple[int, ...] = ()
    suppress_tokens: tuple[int, ...] = ()
    begin_suppress_tokens: tuple[int, ...] = ()
    num_beams: int = 1
    num_return_sequences: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    max_new_tokens: int | None = None
    total_length: int | None = None

    def new_tokens(self, prompt: int) -> int:
        """How many tokens follow a prompt of this length, where nobody says."""
        if self.max_new_tokens is not None or self.total_length is None:
            return 20 if self.max_new_tokens is None else self.max_new_tokens
        return self.total_length - (1 if self.has_encoder else prompt)

    def sampler(self, **given: Any) -> Sampler:
        """What chooses tokens, by the options given and, of those that are None, the model's.

        Raises: ValueError.
        """
        return Sampler(**self._options(Sampler.__slots__, given))

    def beams(self, **given: Any) -> BeamOptions:
        """How many texts are kept, by the options given and those of the model.

        Raises: ValueError.
        """
        return BeamOptions(**self._options(BeamOptions.__slots__, given))

    def _options(self, names: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
        held = {name: getattr(self, name) for name in names}
        return held | {name: value for name, value in given.items() if value is not None}

    def text(self) -> str:
        """The record as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)})


def empty_parts(initial: Sequence[Any], batch: int, device: torch.device) -> list[Any]:
    """The parts of a static cache that nothing was written to."""
    found: list[Any] = []
    for each in initial:
        if isinstance(each, int):  # True and False as well, which are no BATCH
            found.append(batch if each == BATCH else each)
        else:
            shape = [batch if size == BATCH else size for size in each[1]]
            found.append(torch.zeros(shape, dtype=dtype_of(each[0]), device=device))
    return found


def initial_parts(parts: Sequence[Any], wider: Sequence[Any], batch: int) -> tuple[Any, ...]:
    """What the parts of an empty cache are, of one of this batch and one that is wider.

    Raises: ValueError, where it is not zeros.
    """
    found: list[Any] = []
    for part, other in zip(parts, wider, strict=True):
        if isinstance(part, torch.Tensor):
            if bool(part.any()):
                raise ValueError("an empty cache of this model holds numbers")
            sizes = zip(part.shape, other.shape, strict=True)
            shape = [BATCH if a != b else a for a, b in sizes]
            found.append((dtype_code(part.dtype), shape))
        elif part == BATCH or not isinstance(part, int):
            raise ValueError(f"an empty cache of this model holds {part!r}")
        else:
            found.append(BATCH if (part, other) == (batch, batch + 1) else part)
    return tuple(found)


def read_record(text: str) -> Record:
    """The record of a file.

    Raises: archive-invalid.
    """
    try:
        given = json.loads(text)
        kind = given.pop("format")
        for name in ("eos_token_ids", "prompt_inputs", "initial", *TOKEN_LISTS):
            given[name] = tuple(given.get(name, ()))
        record = Record(**given)
        _check(kind, record)
        _check_sampling(record)
    except (AttributeError, KeyError, Refused, TypeError, ValueError) as error:
        raise problem("archive-invalid", member=MEMBER, reason=str(error)[:120]) from None
    return record


def _check(kind: object, record: Record) -> None:
    """Hold every field to its type. Raises: TypeError, ValueError."""
    if kind != FORMAT:
        raise ValueError("its format is another")
    numbers = (record.max_batch, record.max_length, record.vocab_size, *record.eos_token_ids)
    optional = (record.pad_token_id, record.start_token_id)
    optional += (record.max_new_tokens, record.total_length, record.forced_bos_token_id)
    for each in (*numbers, *(one for one in optional if one is not None)):
        if type(each) is not int or each < 0:
            raise ValueError(f"{each!r} is no number of tokens")
    flags = (record.has_encoder, record.masks_ahead, record.do_sample)
    if any(type(each) is not bool for each in flags) or type(record.cache) is not str:
        raise TypeError("it does not say what cache it has")
    if not all(type(each) is str for each in record.prompt_inputs):
        raise TypeError("its inputs have no names")
    for each in record.initial:
        if type(each) in {int, bool}:
            continue
        dtype, shape = each
        dtype_of(dtype)
        if not all(type(size) is int and size >= BATCH for size in shape):
            raise ValueError("its empty cache has no sizes")


def _check_sampling(record: Record) -> None:
    """Hold what tokens are chosen by to its types. Raises: TypeError, ValueError."""
    numbers = (record.temperature, record.top_p, record.repetition_penalty)
    if type(record.top_k) is not int or any(type(n) not in {int, float} for n in numbers):
        raise TypeError("it does not say how tokens are chosen")
    if any(type(each) is not int for name in TOKEN_LISTS for each in getattr(record, name)):
        raise TypeError("it does not say which tokens are left out")
    record.sampler()
    record.beams()


__all__ = ["MEMBER", "Record", "empty_parts", "initial_parts", "read_record"]
