"""Autoregressive decoding with programs: prefill, then a token at a time, over a cache.

Law: a refused call changes nothing, and says so before any operator runs. A state belongs to the
program that began it. No model and no library is needed.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import ContractError, problem
from monograph.generation.beam_search import BeamSearch, meets
from monograph.generation.record import MEMBER, Record, empty_parts, read_record
from monograph.generation.sampling import TextPosition, end, tell
from monograph.generation.steps import DecodeStep, Step
from monograph.lazy_imports import deferred
from monograph.programs import Programs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

    from monograph.generation.sampling import Sampler

_extra_text = deferred("monograph.archive.loading:extra_text")


@dataclass(eq=False, slots=True)
class DecodingState:
    """Where one batch of texts stands: its cache, its mask and `length` tokens so far.

    `logits` are those of the next token, [batch, vocab]. It is made by `GenerationProgram.start`
    and changed by `step`; its mask is None where nothing is padded. Two states of one program share
    nothing but the weights.
    """

    owner: GenerationProgram
    logits: torch.Tensor
    cache: list[Any]
    mask: torch.Tensor | None
    positions: torch.Tensor
    length: int
    source: tuple[torch.Tensor, ...] = ()
    is_broken: bool = field(default=False)

    @property
    def batch(self) -> int:
        """How many texts there are."""
        return self.logits.shape[0]

    def __copy__(self) -> DecodingState:
        """Fork the state: steps of the copy write to a cache of its own."""
        cache = [each.clone() if isinstance(each, torch.Tensor) else each for each in self.cache]
        return replace(self, cache=cache)

    def __deepcopy__(self, _memo: object) -> DecodingState:
        """Fork it, too: the program is shared."""
        return copy(self)


class GenerationProgram:
    """A language model that was captured, and what it takes to decode with it."""

    def __init__(self, programs: Programs, record: Record) -> None:
        self.programs, self.record = programs, record
        kinds = {name: name.partition("_")[0] for name in programs}  # `decode_2` is a `decode`
        self._steps: dict[str, Step] = {}
        for kind in dict.fromkeys(kinds.values()):
            found = [each for name, each in programs.items() if kinds[name] == kind]
            makes = DecodeStep if kind in {"decode", "unpadded"} else Step
            self._steps[kind] = makes(found)
        first = next(iter(programs.values()))
        self._device = next(iter(first.state_dict.values())).device

    # --- a batch of texts, token by token ---------------------------------------------------------

    def start(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        **inputs: torch.Tensor,
    ) -> DecodingState:
        """Read prompts: [batch, n], padded on the left where `attention_mask` is 0.

        `inputs` are what the model takes beside them.

        Raises: generation-limit, token-out-of-range, contract-broken; TypeError (other inputs).
        """
        batch, length = self._check_prompt(input_ids, attention_mask)
        if set(inputs) != set(self.record.prompt_inputs):
            names = list(self.record.prompt_inputs)
            raise TypeError(f"beside the prompt it takes {names}, and got {list(inputs)}")
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        attention_mask = attention_mask.to(torch.long)
        positions = (attention_mask.cumsum(-1) - 1).masked_fill(attention_mask == 0, 0)
        with torch.no_grad():
            if self.record.cache == "dynamic":
                args = (input_ids, attention_mask, positions)
                logits, cache = self._steps["prefill"](*args, **inputs)
                is_padded = "unpadded" not in self._steps or not bool(attention_mask.all())
                mask = attention_mask if is_padded else None
            else:
                mask = attention_mask
                if self.record.masks_ahead:
                    mask = mask.new_ones(batch, self.record.max_length)
                    mask[:, :length] = attention_mask
                cache = empty_parts(self.record.initial, batch, self._device)
                args = (input_ids, mask, positions, cache)
                logits, changed = self._steps["prefill"](*args, **inputs)
                _replace(cache, changed)
        return DecodingState(self, logits, list(cache), mask, positions[:, -1:] + 1, length)

    def step(self, state: DecodingState, tokens: torch.Tensor) -> torch.Tensor:
        """Read one token of each text, [batch]; the logits of the next ones, [batch, vocab].

        Raises: foreign-state, generation-limit, token-out-of-range.
        """
        if state.owner is not self or state.is_broken:
            raise problem("foreign-state", broken=state.is_broken)
        if tuple(tokens.shape) != (state.batch,):
            raise problem(
                "generation-limit",
                what="tokens for a step",
                given=list(tokens.shape),
                limit=[state.batch],
            )
        self._check_tokens(tokens)
        return self._advance(state, tokens)

    def _advance(self, state: DecodingState, tokens: torch.Tensor) -> torch.Tensor:
        """A step with tokens that are in the vocabulary."""
        if state.length >= self.record.max_length:
            limit = self.record.max_length
            raise problem(
                "generation-limit", what="tokens in the cache", given=state.length + 1, limit=limit
            )
        with torch.no_grad():
            try:
                logits, mask = self._decoded(state, tokens[:, None])
            except ContractError:
                raise
            except BaseException:
                state.is_broken = True
                raise
            state.positions = state.positions + 1
        state.mask, state.logits, state.length = mask, logits, state.length + 1
        return logits

    def _decoded(
        self, state: DecodingState, ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The next logits and the mask; the cache is changed."""
        mask = state.mask
        if state.source:
            return self._steps["decode"](ids, *state.source, state.cache), mask
        if mask is None and "unpadded" in self._steps:
            with suppress(ContractError):  # at a length that only the masked step admits
                return self._steps["unpadded"](ids, state.positions, state.cache), None
        if mask is None:
            mask = torch.ones(state.batch, state.length, dtype=torch.long, device=ids.device)
        if not self.record.masks_ahead:
            mask = torch.cat([mask, mask.new_ones(state.batch, 1)], 1)
        return self._steps["decode"](ids, mask, state.positions, state.cache), mask

    # --- whole texts ------------------------------------------------------------------------------

    def generate(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        *,
        max_new_tokens: int | None = None,
        min_new_tokens: int | None = None,
        do_sample: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float | None = None,
        num_beams: int | None = None,
        num_return_sequences: int | None = None,
        length_penalty: float | None = None,
        early_stopping: bool | str | None = None,
        eos_token_id: int | Sequence[int] | None = None,
        pad_token_id: int | None = None,
        stopping_criteria: Sequence[Callable[..., Any]] = (),
        streamer: Any = None,
        **inputs: torch.Tensor,
    ) -> torch.Tensor:
        """Prompts and what follows them, [batch, n + new], as `generate` of transformers.

        A text that has ended goes on with `pad_token_id`; all end where the last one does. Of a
        model with an encoder `input_ids` are what the encoder reads (or its features), and the
        result begins with the token that the decoder begins with. `streamer` is one of
        transformers, or a function of tokens. Each of `stopping_criteria` is given all tokens and
        None after each step, and says which texts end, as a bool or as bool[batch]. With several
        `num_beams` it is a beam search, which no streamer follows; of each prompt there are
        `num_return_sequences` texts, which count for `max_batch` as all beams do. What is None is
        as the model's generation_config says, else as the library has it: `top_k` is 50 then, and 0
        keeps all tokens. Without a mask tokens of a prompt that are `pad_token_id` are padding,
        unless texts end with that.

        Shapes: `input_ids` i64[batch, n], `attention_mask` i64[batch, n] → i64[batch, n + new].
        Units: `max_new_tokens` and `min_new_tokens` are numbers of tokens; `temperature` and
            `repetition_penalty` divide logits; `top_p` is a probability; `eos_token_id` and
            `pad_token_id` are tokens; `num_beams` and `num_return_sequences` are texts of each
            prompt, `length_penalty` the power of a length that divides a score.
        Raises: generation-limit, token-out-of-range, contract-broken, before anything runs;
            TypeError (inputs that the prompt has not), ValueError (an option out of its range).
        """
        sampler = self.record.sampler(
            do_sample=do_sample,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            repetition_penalty=repetition_penalty,
            min_new_tokens=min_new_tokens,
        )
        beams = self.record.beams(
            num_beams=num_beams,
            num_return_sequences=num_return_sequences,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
        )
        number = beams.texts(do_sample=sampler.do_sample)
        if number > 1:
            if streamer is not None and beams.num_beams > 1:
                raise ValueError("a streamer is told one text, and num_beams asks for several")
            input_ids = input_ids.repeat_interleave(number, 0)
            inputs = {name: each.repeat_interleave(number, 0) for name, each in inputs.items()}
            if attention_mask is not None:
                attention_mask = attention_mask.repeat_interleave(number, 0)
        new = self._check_room(input_ids, max_new_tokens)
        ends, pad, attention_mask = self._ends(
            input_ids, attention_mask, eos_token_id, pad_token_id
        )
        if self.record.has_encoder:
            if inputs:
                raise TypeError(f"beside the source it takes nothing, and got {list(inputs)}")
            state, tokens = self._encoded(input_ids, attention_mask)
        else:
            state, tokens = self.start(input_ids, attention_mask, **inputs), input_ids
        padding = torch.zeros(state.batch, dtype=torch.long, device=tokens.device)
        if attention_mask is not None and not self.record.has_encoder:
            padding = (attention_mask != 0).int().argmax(1)
        prompt, ending = tokens.shape[1], torch.tensor(ends, dtype=torch.long, device=tokens.device)
        at = TextPosition(prompt, prompt, prompt + new, ending)
        if beams.num_beams > 1:
            search = BeamSearch(tokens, beams, at.limit, ending, pad)
            is_over = partial(meets, stopping_criteria)
            return self._searched(state, search, sampler, padding, is_over)
        tell(streamer, tokens)
        fill = pad if ends or eos_token_id is not None else None
        tokens = self._chosen(
            state, tokens, sampler, padding, at, fill, stopping_criteria, streamer
        )
        end(streamer)
        return tokens

    def _chosen(
        self,
        state: DecodingState,
        tokens: torch.Tensor,
        sampler: Sampler,
        padding: torch.Tensor,
        at: TextPosition,
        pad: int | None,
        stopping_criteria: Sequence[Callable[..., Any]],
        streamer: Any,
    ) -> torch.Tensor:
        """The texts whose tokens are chosen one by one."""
        unfinished = torch.ones_like(padding)
        for length in range(at.prompt, at.limit):
            if length > at.prompt:
                self._advance(state, tokens[:, -1])
            new = sampler.next_tokens(tokens, state.logits, padding, replace(at, length=length))
            if pad is not None:
                new = new * unfinished + pad * (1 - unfinished)
                unfinished = unfinished & ~torch.isin(new, at.ends)
            tokens = torch.cat([tokens, new[:, None]], 1)
            tell(streamer, new)
            if stopping_criteria:
                unfinished = unfinished * ~meets(stopping_criteria, tokens)
            if (len(at.ends) or stopping_criteria) and not bool(unfinished.any()):
                break
        return tokens

    def _searched(
        self,
        state: DecodingState,
        search: BeamSearch,
        sampler: Sampler,
        padding: torch.Tensor,
        is_over: Callable[[torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        """What a beam search finds; the cache follows the texts that go on."""
        decode: Any = self._steps["decode"]
        while True:
            at = TextPosition(search.prompt, search.length, search.limit, search.ends)
            scores = state.logits.log_softmax(-1)
            scores = sampler.processed(search.tokens, scores, padding, at)
            order = search.advance(scores, is_over)
            if order is None:
                return search.best()
            for place in decode.batched:
                state.cache[place] = state.cache[place].index_select(0, order)
            self._advance(state, search.tokens[:, -1])

    def generate_whole(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        *,
        max_new_tokens: int | None = None,
        eos_token_id: int | Sequence[int] | None = None,
        pad_token_id: int | None = None,
    ) -> torch.Tensor:
        """What `generate` gives, from the program that is the whole loop (`whole=True`).

        How tokens are chosen is part of the program: as the model's generation_config said.

        Shapes and units of `input_ids`, `attention_mask`, `max_new_tokens`, `eos_token_id` and
        `pad_token_id` are those of `generate`.

        Raises: entry-not-found, generation-limit, token-out-of-range, ValueError.
        """
        if "whole" not in self._steps:
            reason = "this program was exported without `whole=True`"
            raise problem("entry-not-found", entry="whole", reason=reason)
        new = self._check_room(input_ids, max_new_tokens)
        ends, pad, mask = self._ends(input_ids, attention_mask, eos_token_id, pad_token_id)
        if self.record.has_encoder:
            mask = self._source_mask(input_ids, mask)
        else:
            self._check_prompt(input_ids, mask)
        mask = torch.ones_like(input_ids) if mask is None else mask.to(torch.long)
        numbers = [torch.tensor(each, device=input_ids.device) for each in (new, pad)]
        ending = torch.tensor(ends, dtype=torch.long, device=input_ids.device)
        with torch.no_grad():
            tokens, number = self._steps["whole"](input_ids, mask, numbers[0], ending, numbers[1])
        return tokens[:, : int(number)].clone()

    def _encoded(
        self, source: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[DecodingState, torch.Tensor]:
        """The state of a decoder that has read its first token."""
        mask = self._source_mask(source, mask)
        shape, first = (source.shape[0], 1), self.record.start_token_id or 0
        start = torch.full(shape, first, device=source.device)
        with torch.no_grad():
            states = self._steps["encode"](source, mask)
            logits, cache = self._steps["prefill"](start, mask, states)
        state = DecodingState(self, logits, list(cache), mask, start, 1, (mask, states))
        return state, start

    def _source_mask(self, source: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """The mask of what an encoder reads, whose tokens are in the vocabulary."""
        if not source.is_floating_point():
            self._check_tokens(source)
        frames = source.shape[-1 if source.is_floating_point() else 1]
        return source.new_ones(len(source), frames, dtype=torch.long) if mask is None else mask

    # --- what is refused --------------------------------------------------------------------------

    def _check_prompt(
        self, ids: torch.Tensor, attention_mask: torch.Tensor | None
    ) -> tuple[int, int]:
        self._check_rank(ids)
        batch, length = ids.shape
        record = self.record
        for what, given, limit in (
            ("texts at once", batch, record.max_batch),
            ("tokens in the cache", length, record.max_length),
        ):
            if not 1 <= given <= limit:
                raise problem("generation-limit", what=what, given=given, limit=limit)
        if attention_mask is not None and attention_mask.shape != ids.shape:
            raise problem(
                "generation-limit",
                what="values of the attention mask",
                given=list(attention_mask.shape),
                limit=list(ids.shape),
            )
        self._check_tokens(ids)
        return batch, length

    def _check_rank(self, ids: torch.Tensor) -> None:
        if ids.ndim != 2 and not (self.record.has_encoder and ids.is_floating_point()):
            what = "dimensions of the prompt"
            raise problem("generation-limit", what=what, given=ids.ndim, limit=2)

    def _check_room(self, ids: torch.Tensor, given: int | None) -> int:
        """How many tokens may follow: what is given, else what the model says."""
        self._check_rank(ids)
        record = self.record
        new = record.new_tokens(ids.shape[-1]) if given is None else index(given)
        if new < 1:
            raise ValueError(f"max_new_tokens must be at least 1, not {new}")
        if ids.shape[0] > record.max_batch or not ids.shape[0]:
            limit = record.max_batch
            raise problem("generation-limit", what="texts at once", given=ids.shape[0], limit=limit)
        prompt = 1 if record.has_encoder else ids.shape[-1]
        if prompt + new - 1 > record.max_length:
            raise problem(
                "generation-limit",
                what="tokens in the cache",
                given=prompt + new - 1,
                limit=record.max_length,
            )
        return new

    def _check_tokens(self, tokens: torch.Tensor) -> None:
        size = self.record.vocab_size
        wrong = (tokens < 0) | (tokens >= size)
        if bool(wrong.any()):
            raise problem("token-out-of-range", token=int(tokens[wrong][0]), size=size)

    def _ends(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor | None,
        given: int | Sequence[int] | None,
        pad: int | None,
    ) -> tuple[list[int], int, torch.Tensor | None]:
        """The tokens that end a text, the one that follows them, and the mask of the prompts."""
        found = self.record.eos_token_ids if given is None else given
        try:
            ends = [index(found)]  # pyright: ignore[reportArgumentType] - raises of a sequence
        except TypeError:
            ends = [index(each) for each in found]  # pyright: ignore[reportGeneralTypeIssues]
        pad = self.record.pad_token_id if pad is None else index(pad)
        pad = ends[0] if pad is None and ends else pad
        if (
            pad is not None and (ends or given is not None) and len(ids) > 1
        ):  # a text that ended goes on with it
            self._check_tokens(torch.tensor([pad]))
        if mask is None and not self.record.has_encoder:
            mask = _mask_of(ids, pad, ends)
        return ends, pad or 0, mask

    # --- files and weights ------------------------------------------------------------------------

    def save(self, file: str | os.PathLike[str] | IO[bytes], **options: Any) -> None:
        """Write programs, weights and record into one `.pt2` file. `options` are those of `save`.

        Raises: as `monograph.save`.
        """
        extra = {**options.pop("extra_files", {}), MEMBER: self.record.text()}
        self.programs.save(file, extra_files=extra, **options)

    def with_state(
        self, state_dict: Mapping[str, torch.Tensor] | str | os.PathLike[str], **options: Any
    ) -> GenerationProgram:
        """Return this program over other tensors, as `Programs.with_state`: with an adapter."""
        return GenerationProgram(self.programs.with_state(state_dict, **options), self.record)

    def __repr__(self) -> str:
        record = self.record
        limits = f"max_batch={record.max_batch}, max_length={record.max_length}"
        return f"GenerationProgram({', '.join(self.programs)}; {record.cache} cache, {limits})"


def load(file: str | os.PathLike[str] | IO[bytes], **options: Any) -> GenerationProgram:
    """Read what `GenerationProgram.save` wrote. `options` are those of `Programs.load`.

    Raises: as `monograph.load`.
    """
    text = _extra_text(file, MEMBER)
    return GenerationProgram(Programs.load(file, **options), read_record(text))


def _mask_of(ids: torch.Tensor, pad: int | None, ends: Sequence[int]) -> torch.Tensor | None:
    """The mask that the library takes for prompts without one; None where all tokens are text."""
    if pad is None or pad in ends or ids.ndim != 2 or ids.dtype not in {torch.int, torch.long}:
        return None
    is_text = ids != pad
    return None if bool(is_text.all()) else is_text.long()


def _replace(cache: list[Any], changed: Mapping[str, Any]) -> None:
    for place, part in changed.items():
        cache[int(place)] = part


__all__ = ["DecodingState", "GenerationProgram", "load"]
