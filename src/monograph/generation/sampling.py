"""Sampling: how the next token is chosen, as `generate` of transformers does, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Sampler:
    """What becomes of scores. The order is that of transformers, as are the numbers drawn."""

    do_sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0
    min_length: int = 0
    min_new_tokens: int = 0
    forced_bos_token_id: int | None = None
    forced_eos_token_id: Sequence[int] = ()
    suppress_tokens: Sequence[int] = ()
    begin_suppress_tokens: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Hold every option to what it may be. Raises: ValueError."""
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, not {self.temperature}")
        if self.top_k is not None and (type(self.top_k) is not int or self.top_k < 0):
            raise ValueError(f"top_k must be a positive int, not {self.top_k}")
        if self.top_p is not None and not 0 <= self.top_p <= 1:
            raise ValueError(f"top_p must lie between 0 and 1, not {self.top_p}")
        if not self.repetition_penalty > 0:
            raise ValueError(f"repetition_penalty must be above 0, not {self.repetition_penalty}")
        for name in ("min_length", "min_new_tokens"):
            given = getattr(self, name)
            if type(given) is not int or given < 0:
                raise ValueError(f"{name} must be a number of tokens, not {given}")

    def next_tokens(
        self, tokens: torch.Tensor, logits: torch.Tensor, padding: torch.Tensor, at: TextPosition
    ) -> torch.Tensor:
        """The next token of each row, given those so far and how many of them are padding.

        Shapes: [batch, n], [batch, vocab], [batch] → [batch].
        """
        scores = self.processed(tokens, logits, padding, at)
        if not self.do_sample:
            return scores.argmax(-1)
        if self.temperature != 1.0:
            scores = scores / self.temperature
        if self.top_k:
            kept = scores.topk(min(self.top_k, scores.shape[-1])).values[:, -1, None]
            scores = scores.masked_fill(scores < kept, -torch.inf)
        if self.top_p is not None and self.top_p < 1.0:
            scores = _nucleus(scores, self.top_p)
        return torch.multinomial(scores.softmax(-1), num_samples=1).squeeze(1)

    def processed(
        self, tokens: torch.Tensor, logits: torch.Tensor, padding: torch.Tensor, at: TextPosition
    ) -> torch.Tensor:
        """The scores of tokens that may stand here, of logits or logarithms of probabilities."""
        scores = logits
        if self.repetition_penalty != 1.0:
            scores = _penalised(tokens, scores, padding, self.repetition_penalty)
        if self.min_length:
            scores = _without(scores, at.ends, at.length < self.min_length)
        if self.min_new_tokens:
            scores = _without(scores, at.ends, at.length < at.prompt + self.min_new_tokens)
        begin = at.prompt
        if self.forced_bos_token_id is not None:
            scores = _forced(scores, (self.forced_bos_token_id,), at.length == 1)
            begin = begin + 1 if begin == 1 else begin
        if self.forced_eos_token_id:
            scores = _forced(scores, self.forced_eos_token_id, at.length == at.limit - 1)
        if self.suppress_tokens:
            scores = _without(scores, self.suppress_tokens, when=True)
        if self.begin_suppress_tokens:
            scores = _without(scores, self.begin_suppress_tokens, at.length == begin)
        return scores


@dataclass(frozen=True, slots=True)
class TextPosition:
    """Where in its text a token stands: `length` tokens are before it, `prompt` of them given.

    There may be `limit` tokens at most; `ends` are those that end a text. Numbers may be tensors.
    """

    prompt: Any
    length: Any
    limit: Any
    ends: Any


def _is_in(scores: torch.Tensor, tokens: Any) -> torch.Tensor:
    """Which tokens of the vocabulary are among these; `isin` sorts, for which ONNX has none."""
    tokens = torch.as_tensor(tokens, dtype=torch.long, device=scores.device)
    vocabulary = torch.arange(scores.shape[-1], device=scores.device)
    return (vocabulary[:, None] == tokens).sum(1) > 0  # as in `whole_loop`


def _without(scores: torch.Tensor, tokens: Any, when: Any) -> torch.Tensor:
    """None of these tokens."""
    return scores.masked_fill(_is_in(scores, tokens) & when, -torch.inf)


def _forced(scores: torch.Tensor, tokens: Any, when: Any) -> torch.Tensor:
    """One of these tokens."""
    kept = _is_in(scores, tokens)
    return scores.masked_fill(~kept & when, -torch.inf).masked_fill(kept & when, 0.0)


def _penalised(
    tokens: torch.Tensor, scores: torch.Tensor, padding: torch.Tensor, penalty: float
) -> torch.Tensor:
    """Tokens that were there become less likely; padding counts as one that is in no vocabulary."""
    size, places = scores.shape[1], torch.arange(tokens.shape[1], device=tokens.device)
    tokens = tokens.masked_fill(places < padding[:, None], size)
    scores = torch.nn.functional.pad(scores, (0, 1))
    seen = scores.gather(1, tokens)
    made = scores.scatter(1, tokens, torch.where(seen < 0, seen * penalty, seen / penalty))
    return made[:, :size]


def _nucleus(scores: torch.Tensor, top_p: float) -> torch.Tensor:
    """Only the likeliest tokens that have this probability together, and at least one."""
    ascending, order = scores.sort(descending=False)
    removed = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
    removed[:, -1:] = False
    return scores.masked_fill(removed.scatter(1, order, removed), -torch.inf)


def tell(streamer: Any, tokens: torch.Tensor) -> None:
    """Give tokens to a streamer of transformers, or to a function."""
    if streamer is None:
        return
    put = getattr(streamer, "put", streamer)
    put(tokens.cpu())


def end(streamer: Any) -> None:
    """Tell a streamer that nothing more comes."""
    finish = getattr(streamer, "end", None)
    if finish is not None:
        finish()


__all__ = ["Sampler", "TextPosition", "end", "tell"]
