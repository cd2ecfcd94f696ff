"""End-to-end generation: prefill and the decoding loop as one program, a `while_loop`.

The model is the library's, unmodified, with its static cache as loop-carried state; layers with
sliding windows keep all tokens, and their masks hold to the windows. Tokens are kept in a tensor of
the greatest length; the loop ends where every text has ended, or at its limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.generation.record import empty_parts
from monograph.generation.sampling import TextPosition

if TYPE_CHECKING:
    from monograph.generation.captured import Entries
    from monograph.generation.sampling import Sampler


class WholeLoop:
    """What is captured: a function that is given the model, and returns tokens and their number.

    `start` is the token that a decoder begins with, of a model with an encoder.
    """

    def __init__(
        self, entries: Entries, initial: tuple[Any, ...], sampler: Sampler, start: int
    ) -> None:
        self.entries, self.initial = entries, initial
        self.sampler, self.start = sampler, start

    def __call__(
        self,
        model: Any,
        input_ids: Any,
        attention_mask: Any,
        max_new_tokens: Any,
        eos_token_ids: Any,
        pad_token_id: Any,
    ) -> tuple[Any, Any]:
        """Prompts and what follows them, [batch, max_length + 1], and how many tokens that is, [].

        Shapes: [batch, n], [batch, n], [], [ends], [], all int64. Behind the number there are pads.
        """
        caller, traits = self.entries.caller, self.entries.caller.traits
        begin = self._read_source if traits.has_encoder else self._read_prompt
        prompt, padding, mask, position, (logits, cache) = begin(model, input_ids, attention_mask)
        batch, length = prompt.shape
        # A place without a token holds one that is in no vocabulary, which no penalty is for.
        places = torch.arange(traits.max_length + 1, device=input_ids.device)
        tokens = torch.full_like(places, logits.shape[-1]).repeat(batch, 1)
        tokens[:, :length] = prompt
        number = torch.full_like(max_new_tokens, length)
        last = number + max_new_tokens
        at = TextPosition(length, number, last, eos_token_ids)
        token = self.sampler.next_tokens(tokens, logits, padding, at)
        unfinished = ~_is_in(token, eos_token_ids)
        tokens = tokens.index_copy(1, number[None], token[:, None])
        number = number + 1
        while (number < last) & unfinished.any():
            logits, cache = caller.token(model, (token[:, None], mask, position), cache)
            at = TextPosition(length, number, last, eos_token_ids)
            token = self.sampler.next_tokens(tokens, logits, padding, at)
            token = torch.where(unfinished, token, pad_token_id)
            unfinished = unfinished & ~_is_in(token, eos_token_ids)
            tokens = tokens.index_copy(1, number[None], token[:, None])
            if not traits.has_encoder:  # there it is what the encoder made
                position = position + 1
            number = number + 1
        return torch.where(places < number, tokens, pad_token_id), number

    def _read_prompt(self, model: Any, input_ids: Any, attention_mask: Any) -> tuple[Any, ...]:
        """Tokens, their padding, and what the next step takes; logits and cache."""
        caller, (batch, length) = self.entries.caller, input_ids.shape
        cache = self.entries.layout.built(empty_parts(self.initial, batch, input_ids.device))
        mask = attention_mask.new_ones(batch, caller.traits.max_length)
        mask[:, :length] = attention_mask
        positions = (attention_mask.cumsum(-1) - 1).masked_fill(attention_mask == 0, 0)
        read = attention_mask if caller.traits.is_recurrent else mask
        found = caller.read(model, input_ids, read, positions, cache, {}, is_first=True)
        return input_ids, (attention_mask != 0).int().argmax(1), mask, positions[:, -1:] + 1, found

    def _read_source(self, model: Any, source: Any, attention_mask: Any) -> tuple[Any, ...]:
        """As `_read_prompt`, of a decoder that has read its first token."""
        caller, batch = self.entries.caller, source.shape[0]
        states = caller.encoded(model, source, attention_mask)
        first = torch.full((batch, 1), self.start, device=source.device)
        logits, cache = caller.decoded(model, first, attention_mask, states, None)
        # The library makes its counters of views, which no loop carries.
        layout = self.entries.layout
        parts = [
            each.clone() if isinstance(each, torch.Tensor) else each for each in layout.parts(cache)
        ]
        return first, first[:, 0] * 0, attention_mask, states, (logits, layout.built(parts))


def _is_in(tokens: Any, ends: Any) -> Any:
    """Which tokens end a text.

    `isin` sorts, for which ONNX has no operator, and of none ONNX Runtime says that some are so.
    """
    return (tokens[:, None] == ends).sum(1) > 0


__all__ = ["WholeLoop"]
