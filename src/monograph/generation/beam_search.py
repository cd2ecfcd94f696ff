"""Beam search: the likeliest texts, as `generate` of transformers finds them.

Of each prompt so many texts go on at once, and as many of the best that have ended are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

FAR = -1.0e9
"""A score that no text has: the library's."""


@dataclass(frozen=True, slots=True)
class BeamOptions:
    """How many texts are kept and returned of each prompt, and how those that ended compare."""

    num_beams: int = 1
    num_return_sequences: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | str = False

    def __post_init__(self) -> None:
        """Hold every option to what it may be. Raises: ValueError."""
        for name in ("num_beams", "num_return_sequences"):
            given = getattr(self, name)
            if type(given) is not int or given < 1:
                raise ValueError(f"{name} must be a number of texts, not {given}")
        if type(self.length_penalty) not in {int, float}:
            raise ValueError(f"length_penalty must be a number, not {self.length_penalty}")
        if self.early_stopping not in (True, False, "never"):
            raise ValueError(f"early_stopping is True, False or 'never', not {self.early_stopping}")

    def texts(self, *, do_sample: bool) -> int:
        """How many texts of each prompt are read at once. Raises: ValueError."""
        number = self.num_return_sequences
        if self.num_beams == 1:
            if number > 1 and not do_sample:
                raise ValueError(f"num_return_sequences is {number}, and texts are not sampled")
            return number
        if do_sample:
            raise ValueError(f"do_sample is not done with num_beams, which is {self.num_beams}")
        if number > self.num_beams:
            raise ValueError(f"num_return_sequences is {number}, of num_beams={self.num_beams}")
        return self.num_beams


class BeamSearch:
    """The texts that go on, and those that have ended, best first.

    Shapes: prompts i64[rows * beams, n], each prompt as often as there are beams; `ends` i64[n].
    """

    def __init__(
        self, prompts: torch.Tensor, options: BeamOptions, limit: int, ends: torch.Tensor, pad: int
    ) -> None:
        beams = options.num_beams
        self.options, self.limit, self.ends = options, limit, ends
        self.length = self.prompt = prompts.shape[1]
        fill = (pad or int(ends[0])) if len(ends) else -1
        self.texts = prompts.new_full((len(prompts) // beams, beams, limit), fill)
        self.texts[:, :, : self.length] = prompts.view(-1, beams, self.length)
        self.scores = torch.zeros(self.texts.shape[:2], device=prompts.device)
        self.scores[:, 1:] = FAR  # all beams of a prompt are the same yet
        self.ended = self.texts.clone()
        self.ended_scores = torch.full_like(self.scores, FAR)
        self.ended_lengths = torch.zeros_like(self.texts[:, :, 0])
        self.has_ended = torch.zeros_like(self.scores, dtype=torch.bool)
        self.may_improve = torch.ones_like(self.has_ended[:, :1])

    @property
    def tokens(self) -> torch.Tensor:
        """The texts that go on, [rows * beams, length]."""
        return self.texts[:, :, : self.length].flatten(0, 1)

    def advance(
        self, scores: torch.Tensor, is_over: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor | None:
        """Choose the next token of each text; of which text before each is one, None at the end.

        Shapes: logarithms of probabilities, f32[rows * beams, vocab] → i64[rows * beams].
        """
        (rows, beams), vocabulary = self.scores.shape, scores.shape[-1]
        total = (scores.view(rows, beams, vocabulary) + self.scores[:, :, None]).view(rows, -1)
        best, places = total.topk(max(2, 1 + len(self.ends)) * beams)
        source, token = places // vocabulary, places % vocabulary
        texts = _chosen(self.texts, source)
        texts[:, :, self.length] = token
        stops = is_over(texts[:, :, : self.length + 1].flatten(0, 1)).view_as(token)
        stops = stops | torch.isin(token, self.ends) | (self.length + 1 >= self.limit)
        self._end(texts, best, stops)
        goes_on = best + stops.float() * FAR
        kept = goes_on.topk(beams).indices
        self.texts, self.scores = _chosen(texts, kept), goes_on.gather(1, kept)
        self.length += 1
        self._look_ahead()
        is_full = self.options.early_stopping is True and bool(self.has_ended.all())
        if is_full or bool(stops.all()) or not bool(self.may_improve.any()):
            return None
        first = torch.arange(rows, device=scores.device)[:, None] * beams
        return (source.gather(1, kept) + first).flatten()

    def _end(self, texts: torch.Tensor, best: torch.Tensor, stops: torch.Tensor) -> None:
        """Keep the best of those that ended now and before."""
        beams, new = self.scores.shape[1], self.length + 1 - self.prompt
        stops = stops & (torch.arange(stops.shape[1], device=stops.device) < beams)
        score = best / new**self.options.length_penalty
        if self.options.early_stopping is True:
            score = score + self.has_ended.all(1, keepdim=True).float() * FAR
        score = score + (~self.may_improve).float() * FAR
        score = score + (~stops) * FAR
        self.ended_scores, kept = torch.cat([self.ended_scores, score], 1).topk(beams)
        lengths = torch.cat([self.ended_lengths, torch.full_like(texts[:, :, 0], new)], 1)
        self.ended = _chosen(torch.cat([self.ended, texts], 1), kept)
        self.ended_lengths = lengths.gather(1, kept)
        self.has_ended = torch.cat([self.has_ended, stops], 1).gather(1, kept)

    def _look_ahead(self) -> None:
        """Of which prompts a text that goes on may become better than those that ended."""
        penalty, length = self.options.length_penalty, self.length
        if self.options.early_stopping == "never" and penalty > 0:
            length = self.limit
        hoped = self.scores[:, :1] / (length - self.prompt) ** penalty
        worst = self.ended_scores.min(1, keepdim=True).values
        worst = torch.where(self.has_ended, worst, FAR)
        self.may_improve = self.may_improve & (hoped > worst).any(1, keepdim=True)

    def best(self) -> torch.Tensor:
        """The best texts of each prompt, [rows * num_return_sequences, length of the longest]."""
        number = self.options.num_return_sequences
        longest = self.prompt + int(self.ended_lengths[:, :number].max())
        return self.ended[:, :number, :longest].flatten(0, 1)


def _chosen(texts: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return texts.take_along_dim(places[:, :, None], 1)


def meets(stopping_criteria: Any, tokens: torch.Tensor) -> torch.Tensor:
    """Which texts end by the criteria of a caller."""
    found = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    for each in stopping_criteria:
        found = found | torch.as_tensor(each(tokens, None), device=tokens.device)
    return found


__all__ = ["BeamOptions", "BeamSearch", "meets"]
