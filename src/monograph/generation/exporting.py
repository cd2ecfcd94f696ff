"""Export for generation: the entries of a language model, one for each regime of its lengths.

A library's cache may do otherwise while a window fills than when it is full, or for one token. Each
entry is captured at an example; where its contract leaves out other lengths, another is captured.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import ConstraintViolation, ContractError, ExportError
from monograph.dims import Dim
from monograph.generation.cache_layout import declarations
from monograph.generation.captured import Entries
from monograph.generation.decoding import GenerationProgram
from monograph.generation.examples import BATCH, EncoderExamples, Examples
from monograph.generation.model_traits import as_tuple, refuse, settings_of, traits_of
from monograph.generation.record import Record
from monograph.generation.whole_loop import WholeLoop
from monograph.methods import EntryCall, export_methods
from monograph.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monograph.generation.model_traits import CacheKind
    from monograph.generation.sampling import Sampler
    from monograph.program import ExportedProgram

MIN_LENGTH = 4


def export(
    model: torch.nn.Module,
    *,
    max_batch: int = 1,
    max_length: int,
    cache: CacheKind = "dynamic",
    inputs: Mapping[str, torch.Tensor] | None = None,
    whole: bool = False,
) -> GenerationProgram:
    """Capture a language model of transformers for `generate`: its prefill and its decode step.

    `max_length` is the most tokens that a cache holds, prompt included, `max_batch` the most texts.
    A "dynamic" cache grows; a "static" one has that length from the start and is written in place;
    "sliding" is a static one of a model whose layers have windows. `inputs` are example inputs by
    name: of a model with images `input_ids` (one row) and what it takes beside them, of a model
    with an encoder `input_ids` or `input_features`. With `whole` there is an entry besides,
    `whole`: the prefill and the loop as one program, with a static cache as loop-carried state,
    which chooses tokens by the model's generation_config; see `generate_whole`.

    Shapes: `inputs` have one row each, [1, n, ...].
    Raises: not-generative, ValueError (room for too little); as `monograph.export`.
    """
    if max_batch < 1 or max_length < MIN_LENGTH:
        raise ValueError(f"max_batch is {max_batch} and max_length {max_length}: too few")
    given = dict(inputs or {})
    ids = given.pop("input_ids", None)
    traits = traits_of(model, cache, max_length, tuple(given))
    settings = settings_of(model)
    if model.training:
        refuse(model, "it is in training mode: call model.eval() first")
    made: Any = model.generation_config  # pyright: ignore[reportAttributeAccessIssue] - traits_of looked
    starts = (made.decoder_start_token_id, made.bos_token_id)
    start = next((each for each in starts if each is not None), None)
    if traits.has_encoder and start is None:
        refuse(model, "its generation_config names no token that its decoder begins with")
    with torch.no_grad():
        kind = EncoderExamples if traits.has_encoder else Examples
        examples = kind(model, traits, max_length, ids, given)
        record = Record(
            cache=cache,
            masks_ahead=examples.masks_ahead,
            has_encoder=traits.has_encoder,
            max_batch=max_batch,
            max_length=max_length,
            vocab_size=traits.vocab_size,
            eos_token_ids=as_tuple(made.eos_token_id),
            pad_token_id=made.pad_token_id,
            start_token_id=start,
            prompt_inputs=traits.prompt_inputs,
            initial=examples.initial,
            max_new_tokens=made.max_new_tokens,
            total_length=made.max_length,
            **settings,
        )
        loop = None
        if whole:
            if cache == "dynamic" or (given and not traits.has_encoder):
                refuse(model, "its loop as one program takes a static cache, and a prompt alone")
            sampler = record.sampler()
            if record.beams().texts(do_sample=sampler.do_sample) > 1:
                reason = "its generation_config asks for several texts of a prompt"
                refuse(model, f"{reason} (`num_beams`), which its loop as one program does not do")
            loop = _loop(examples, sampler, start or 0)
        programs = _Entries(examples, max_batch).captured(loop)
    return GenerationProgram(programs, record)


def _loop(examples: Examples, sampler: Sampler, start: int) -> WholeLoop:
    """The whole loop; its cache keeps all tokens of layers with windows, which count in Python."""
    if examples.traits.windows:
        examples = examples.without_windows()
    entries = Entries(examples.traits, examples.layout)
    return WholeLoop(entries, examples.initial, sampler, start)


class _Entries:
    """Captures the entries that admit the examples."""

    def __init__(self, examples: Examples, max_batch: int) -> None:
        self.examples, self.traits = examples, examples.traits
        # Examples have two texts; the loop holds to the limit.
        self.max_batch = max_batch
        self.batch = Dim("batch", min=1, max=max(max_batch, BATCH))
        self.functions = Entries(self.traits, examples.layout).functions()
        self.programs: dict[str, ExportedProgram] = {}
        # Of a recurrence, the last chunk of a prompt is padded or not: both ways in one entry.
        self.options: dict[str, Any] = (
            {"control_flow": "capture_sizes"} if self.traits.is_recurrent else {}
        )

    def captured(self, loop: WholeLoop | None) -> Programs:
        """All entries, over one state; the whole loop where it is given."""
        longest = self.examples.max_length
        lengths = [n for n in self.examples.lengths(longest - 2) if n > 0]
        if isinstance(self.examples, EncoderExamples):
            self._cover("encode", map(self._encode, lengths))
            self._cover("prefill", map(self._begin, lengths))
            self._cover("decode", map(self._go_on, lengths))
        else:
            self._cover_prefill(lengths)
            self._cover("decode", map(self._decode, lengths))
            if not self.examples.is_static and not self.traits.is_recurrent:
                with suppress(ExportError):  # the masked step is there
                    self._cover("unpadded", map(self._unpadded, lengths))
        if loop is not None:
            self.functions["whole"] = loop
            self._cover("whole", map(self._whole, lengths))
        return Programs(self.programs)

    def _cover(self, kind: str, calls: Iterable[tuple[EntryCall, Any]]) -> None:
        """Capture the first call, and each that no entry admits yet.

        Raises: as `export`, of the first.
        """
        made: list[ExportedProgram] = []
        for example, declared in calls:
            if any(_admits(each, example) for each in made):
                continue
            name = kind if not made else f"{kind}_{len(made) + 1}"
            try:
                program = self._one(name, example.of(self.functions[kind]), declared)
            except ExportError:
                if not made:
                    raise
                continue
            made.append(program)
            self.programs[name] = program

    def _one(self, name: str, example: EntryCall, declared: Any) -> ExportedProgram:
        """Capture; a number of the cache that turns out to be constant is declared so."""
        shapes = {name: declared if isinstance(declared, dict) else tuple(declared)}
        found = export_methods(
            self.examples.model, {name: example}, dynamic_shapes=shapes, **self.options
        )[name]
        fixed = {each.path for each in found.report.specializations}
        if isinstance(declared, dict) or not isinstance(declared[-1], list):
            return found
        places = [i for i in range(len(declared[-1])) if f"cache[{i}]" in fixed]
        if not places:
            return found
        parts = [None if i in places else each for i, each in enumerate(declared[-1])]
        return self._one(name, example, [*declared[:-1], parts])

    def _cover_prefill(self, lengths: Sequence[int]) -> None:
        """A prompt; where a model makes a list of images, an entry for each number of texts."""
        try:
            self._cover("prefill", map(self._prefill, lengths))
        except ConstraintViolation:
            if not self.traits.prompt_inputs:
                raise
            batches = range(1, self.max_batch + 1)
            self._cover("prefill", (self._prefill(n, b) for b in batches for n in lengths))

    def _prefill(self, n: int, rows: int | None = None) -> tuple[EntryCall, Any]:
        """The example of a prompt, of any number of texts or of this one."""
        examples, batch = self.examples, self.batch if rows is None else None
        rows = rows or BATCH
        tokens = Dim.AUTO(min=examples.least, max=examples.max_length)
        row = {0: batch, 1: tokens}
        mask = {0: batch} if examples.masks_ahead else row
        declared: list[Any] = [row, mask, row]
        inputs = examples.prompt(rows, n)
        plain, more = inputs[:3], dict(zip(self.traits.prompt_inputs, inputs[3:], strict=True))
        args: tuple[Any, ...] = plain
        if examples.is_static:
            empty, wider = examples.empty(rows), examples.empty(rows + 1)
            args = (*plain, examples.layout.parts(empty))
            declared.append(declarations(examples.layout, empty, wider, [], batch))
        if more:
            names = ("input_ids", "attention_mask", "position_ids", "cache")
            shapes = dict(zip(names, declared, strict=False))
            shapes |= {"inputs": {name: {0: batch} for name in more}}
            return EntryCall(args, more), shapes
        return EntryCall(args, {}), declared

    def _decode(self, n: int) -> tuple[EntryCall, Any]:
        examples = self.examples
        row = {0: self.batch}
        mask = row
        if not examples.masks_ahead:
            mask = {0: self.batch, 1: Dim.AUTO(min=1, max=examples.max_length)}
        parts = examples.layout.parts(examples.cache(BATCH, n))
        return EntryCall((*examples.token(BATCH, n), parts), {}), [row, mask, row, self._parts(n)]

    def _unpadded(self, n: int) -> tuple[EntryCall, Any]:
        tokens, _, positions = self.examples.token(BATCH, n)
        parts = self.examples.layout.parts(self.examples.cache(BATCH, n))
        row = {0: self.batch}
        return EntryCall((tokens, positions, parts), {}), [row, row, self._parts(n)]

    def _whole(self, n: int) -> tuple[EntryCall, Any]:
        examples = self.examples
        row = self._row()
        if isinstance(examples, EncoderExamples):
            ids, mask = examples.source(BATCH, n)
        else:
            ids, mask = examples.prompt(BATCH, n)[0], torch.ones(BATCH, n, dtype=torch.long)
            row[1] = Dim.AUTO(min=1, max=examples.max_length)
        numbers = torch.tensor([3, 2, 1, 0], device=ids.device)
        call = EntryCall((ids, mask.to(ids.device), numbers[0], numbers[1:3], numbers[3]), {})
        return call, [row, row, None, {0: Dim("ends", min=0)}, None]

    def _encode(self, n: int) -> tuple[EntryCall, Any]:
        assert isinstance(self.examples, EncoderExamples), "there is an encoder"
        row = self._row()
        return EntryCall(self.examples.source(BATCH, n), {}), [row, row]

    def _begin(self, n: int) -> tuple[EntryCall, Any]:
        row = self._row()
        return EntryCall(self.examples.prompt(BATCH, n), {}), [{0: self.batch}, row, row]

    def _go_on(self, n: int) -> tuple[EntryCall, Any]:
        row, parts = self._row(), self.examples.layout.parts(self.examples.cache(BATCH, n))
        declared = [{0: self.batch}, row, row, self._parts(n)]
        return EntryCall((*self.examples.prompt(BATCH, n), parts), {}), declared

    def _row(self) -> dict[int, Any]:
        """Of a source: its features have one length, its tokens any."""
        return {0: self.batch} if self.examples.given else {0: self.batch, 1: Dim.AUTO(min=1)}

    def _parts(self, n: int) -> list[Any]:
        examples = self.examples
        longer = [examples.cache(BATCH, n + 1), examples.cache(BATCH, n, 1)]
        base, wider = examples.cache(BATCH, n), examples.cache(BATCH + 1, n)
        return declarations(examples.layout, base, wider, longer, self.batch)


def _admits(program: ExportedProgram, example: EntryCall) -> bool:
    try:
        program.check_inputs(*example.args, **example.kwargs)
    except ContractError:
        return False
    return True


__all__ = ["export"]
