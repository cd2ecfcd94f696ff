"""End-to-end generation: prefill and the decoding loop as one program, a `while_loop`.

The model is the library's, unmodified, with its static cache as loop-carried state. Tokens are kept
in a tensor of the greatest length; the loop ends where every text has ended, or at its limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.generation.record import empty_parts

if TYPE_CHECKING:
    from monograph.generation.captured import Entries
    from monograph.generation.sampling import Sampler


class WholeLoop:
    """What is captured: a function that is given the model, and returns tokens and their number."""

    def __init__(
        self, entries: Entries, initial: tuple[Any, ...], max_length: int, sampler: Sampler
    ) -> None:
        self.entries, self.initial, self.max_length = entries, initial, max_length
        self.sampler = sampler

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
        caller, (batch, length) = self.entries.caller, input_ids.shape
        cache = self.entries.layout.built(empty_parts(self.initial, batch, input_ids.device))
        mask = attention_mask.new_ones(batch, self.max_length)
        mask[:, :length] = attention_mask
        positions = (attention_mask.cumsum(-1) - 1).masked_fill(attention_mask == 0, 0)
        logits, cache = caller.read(model, input_ids, mask, positions, cache, {}, is_first=True)
        position = positions[:, -1:] + 1
        padding = (attention_mask != 0).int().argmax(1)
        # A place without a token holds one that is in no vocabulary, which no penalty is for.
        places = torch.arange(self.max_length + 1, device=input_ids.device)
        tokens = torch.full_like(places, logits.shape[-1]).repeat(batch, 1)
        tokens[:, :length] = input_ids
        number = torch.full_like(max_new_tokens, length)
        last = number + max_new_tokens
        token = self.sampler.next_tokens(tokens, logits, padding)
        unfinished = ~_is_in(token, eos_token_ids)
        tokens = tokens.index_copy(1, number[None], token[:, None])
        number = number + 1
        while (number < last) & unfinished.any():
            logits, cache = caller.read(
                model, token[:, None], mask, position, cache, {}, is_first=False
            )
            token = self.sampler.next_tokens(tokens, logits, padding)
            token = torch.where(unfinished, token, pad_token_id)
            unfinished = unfinished & ~_is_in(token, eos_token_ids)
            tokens = tokens.index_copy(1, number[None], token[:, None])
            position = position + 1
            number = number + 1
        return torch.where(places < number, tokens, pad_token_id), number


def _is_in(tokens: Any, ends: Any) -> Any:
    """Which tokens end a text; `isin` sorts, for which ONNX has no operator."""
    return (tokens[:, None] == ends).any(1)


__all__ = ["WholeLoop"]
