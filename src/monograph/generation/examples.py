"""Examples for generation: calls of a library's model, and the caches that they leave."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import torch

from monograph.generation.cache_layout import CacheChanges, layout_of
from monograph.generation.captured import Caller
from monograph.generation.model_traits import refuse
from monograph.generation.record import initial_parts
from monograph.lazy_imports import resolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.generation.cache_layout import CacheLayout
    from monograph.generation.model_traits import ModelTraits

BATCH = 2
"""Of examples: 1 might be special."""


class Examples:
    """Calls of the library's model, and the caches that they leave."""

    def __init__(
        self,
        model: torch.nn.Module,
        traits: ModelTraits,
        max_length: int,
        ids: torch.Tensor | None,
        given: Mapping[str, torch.Tensor],
    ) -> None:
        self.model, self.traits, self.max_length = model, traits, max_length
        self.ids, self.given = ids, given
        self.device = next(model.parameters()).device
        self.caller = Caller(traits)
        # Whether the prefill is given a cache; that of a model with an encoder makes its own.
        self.is_static = traits.cache != "dynamic" and not traits.has_encoder
        self.masks_ahead = self.is_static and not traits.is_recurrent
        self.initial: tuple[Any, ...] = ()
        self.keeps_all = False
        self.least = 1 if ids is None else ids.shape[1]
        try:
            self.layout = self.made_layout()
        except CacheChanges as change:
            refuse(self.model, f"its cache cannot be an argument: {change}")

    def lengths(self, last: int) -> list[int]:
        """Lengths at which a model may do otherwise, the usual one first."""
        windows = self.traits.windows
        usual = max((w + 3 for w in windows), default=self.least + 6)
        found = [usual, self.least + 4, self.least, self.least + 1]
        found += [w + d for w in windows for d in (-2, -1, 0, 1)]
        return list(dict.fromkeys(n for n in found if self.least <= n <= last))

    def prompt(self, batch: int, n: int) -> tuple[torch.Tensor, ...]:
        """Tokens, mask, positions, and what else the prefill takes."""
        tokens = (torch.arange(n, device=self.device) + 3) % self.traits.vocab_size
        if self.ids is not None:
            tokens[: self.ids.shape[1]] = self.ids[0]
        positions = torch.arange(n, device=self.device).repeat(batch, 1)
        more = [each[:1].repeat(batch, *[1] * (each.ndim - 1)) for each in self.given.values()]
        return tokens.repeat(batch, 1), self.mask(batch, n), positions, *more

    def mask(self, batch: int, n: int) -> torch.Tensor:
        """Of attention to a static cache, the mask has its whole length: what comes later is 1."""
        length = self.max_length if self.masks_ahead else n
        return torch.ones(batch, length, dtype=torch.long, device=self.device)

    def token(self, batch: int, n: int) -> tuple[torch.Tensor, ...]:
        """The inputs of the decode step after `n` tokens."""
        tokens = torch.full((batch, 1), 3, device=self.device)
        return tokens, self.mask(batch, n + 1), torch.full_like(tokens, n)

    def empty(self, batch: int) -> Any:
        """A cache for the prefill; None where the model makes its own."""
        if not self.is_static:
            return None
        made = resolved("transformers:StaticCache")(
            config=self.model.config, max_cache_len=self.max_length
        )
        if self.keeps_all:
            kinds = ("StaticSlidingWindowLayer", "StaticLayer")
            windowed, full = (resolved(f"transformers.cache_utils:{name}") for name in kinds)
            made.layers = [
                full(self.max_length) if type(each) is windowed else each for each in made.layers
            ]
        self.caller.prompt(self.model, self.prompt(batch, self.least), made)
        made.reset()
        return made

    def without_windows(self) -> Examples:
        """Those with a static cache that keeps all tokens; masks hold to the windows."""
        found = copy(self)
        found.keeps_all = True
        found.layout = found.made_layout()
        return found

    def cache(self, batch: int, n: int, steps: int = 0) -> Any:
        """The cache of a prompt, and of some tokens more."""
        found = self.empty(batch)
        _, found = self.caller.prompt(self.model, self.prompt(batch, n), found)
        for step in range(steps):
            _, found = self.caller.token(self.model, self.token(batch, n + step), found)
        return found

    def made_layout(self) -> CacheLayout:
        """That of the caches that calls leave. Raises: CacheChanges."""
        lengths = self.lengths(self.max_length - 2)
        caches = [self.cache(BATCH, n) for n in lengths]
        caches += [self.cache(BATCH, n, 1) for n in lengths[:2]]
        caches.append(self.cache(BATCH + 1, lengths[0]))
        if not self.is_static:
            return layout_of(caches)
        empty = [self.empty(BATCH), self.empty(BATCH + 1)]
        layout = layout_of([*empty, *caches])
        self.initial = initial_parts(layout.parts(empty[0]), layout.parts(empty[1]), BATCH)
        return layout


class EncoderExamples(Examples):
    """Those of a model with an encoder: lengths are of the source, which the encoder has read."""

    def source(self, batch: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """What the encoder reads, and its mask."""
        if self.given:
            (example,) = self.given.values()
            source = example[:1].repeat(batch, *[1] * (example.ndim - 1))
            n = source.shape[-1]
        else:
            tokens = torch.arange(n, device=self.device) + 3
            source = (tokens % self.traits.vocab_size).repeat(batch, 1)
        return source, torch.ones(batch, n, dtype=torch.long, device=self.device)

    def prompt(self, batch: int, n: int) -> tuple[torch.Tensor, ...]:
        """The first token of the decoder, the mask of the source, and what the encoder made."""
        source, mask = self.source(batch, n)
        states = self.caller.encoded(self.model, source, mask)
        return torch.full((batch, 1), 3, device=self.device), mask, states

    def token(self, batch: int, n: int) -> tuple[torch.Tensor, ...]:
        """As another token."""
        return self.prompt(batch, n)

    def cache(self, batch: int, n: int, steps: int = 0) -> Any:
        """The cache of a source, after the first token and some more."""
        given = self.prompt(batch, n)
        found = None
        for _ in range(steps + 1):
            _, found = self.caller.prompt(self.model, given, found)
        return found

    def lengths(self, last: int) -> list[int]:
        """Lengths of a source; features have one."""
        return [7] if self.given else [n for n in (7, 1) if n <= last]


__all__ = ["BATCH", "EncoderExamples", "Examples"]
