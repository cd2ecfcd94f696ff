"""Captured code: how the model of a library is called for a prompt, for one token, for a source.

It is interpreted as the user's code is. The library prepares the inputs as its own loop does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.lazy_imports import resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.generation.cache_layout import CacheLayout
    from monograph.generation.model_traits import ModelTraits


class Caller:
    """Calls a model with the library's own cache: what examples are made with."""

    def __init__(self, traits: ModelTraits) -> None:
        self.traits = traits
        names = ("EncoderDecoderCache", "StaticCache", "DynamicCache")
        self.library = [resolved(f"transformers:{name}") for name in names]

    def prompt(self, model: Any, given: Any, cache: Any) -> Any:
        """The logits behind a prompt, [batch, vocab], and the cache; `given` as entries take it."""
        ids, mask, positions, *more = given
        if self.traits.has_encoder:
            return self.decoded(model, ids, mask, positions, cache)
        more = dict(zip(self.traits.prompt_inputs, more, strict=True))
        return self.read(model, ids, mask, positions, cache, more, is_first=True)

    def token(self, model: Any, given: Any, cache: Any) -> Any:
        """The logits behind one token more, and the cache."""
        ids, mask, last = given
        if self.traits.has_encoder:
            return self.decoded(model, ids, mask, last, cache)
        return self.read(model, ids, mask, last, cache, {}, is_first=False)

    def read(
        self,
        model: Any,
        ids: Any,
        mask: Any,
        positions: Any,
        cache: Any,
        more: Mapping[str, Any],
        *,
        is_first: bool,
    ) -> Any:
        """Read tokens with a decoder."""
        options = dict(more)
        if self.traits.takes_positions:
            options["position_ids"] = positions
        if self.traits.takes_logits_to_keep and is_first:
            options["logits_to_keep"] = 1
        if cache is not None:
            options[self.traits.cache_name] = cache
        inputs = model.prepare_inputs_for_generation(
            ids, attention_mask=mask, use_cache=True, is_first_iteration=is_first, **options
        )
        found = model(**inputs, return_dict=True)
        return found.logits[:, -1].float(), getattr(found, self.traits.cache_name)

    def decoded(self, model: Any, ids: Any, mask: Any, states: Any, cache: Any) -> Any:
        """Read tokens with the decoder of a model that has an encoder, whose result is `states`.

        Without a cache it makes its own; of one that is static, what is kept of the source is not.
        """
        if cache is None and self.traits.cache != "dynamic":
            both, static, dynamic = self.library
            config = model.config.get_text_config(decoder=True)
            own = static(config=config, max_cache_len=self.traits.max_length)
            cache = both(own, dynamic(config=config))
        found = model(
            decoder_input_ids=ids,
            attention_mask=mask,
            encoder_outputs=(states,),
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
        )
        return found.logits[:, -1].float(), found.past_key_values

    def encoded(self, model: Any, inputs: Any, attention_mask: Any) -> Any:
        """What the encoder makes of a source."""
        encoder = model.get_encoder()
        return encoder(inputs, attention_mask=attention_mask, return_dict=True).last_hidden_state


class Entries:
    """The functions that are captured; each is given the model, and a cache by its parts."""

    def __init__(self, traits: ModelTraits, layout: CacheLayout) -> None:
        self.layout, self.caller = layout, Caller(traits)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """By the kind of their entry."""
        traits = self.caller.traits
        if traits.has_encoder:
            return {"encode": self.encode, "prefill": self.begin, "decode": self.go_on}
        first = self.prefill if traits.cache == "dynamic" else self.prefill_in_place
        return {"prefill": first, "decode": self.decode, "unpadded": self.decode_unpadded}

    def changed(self, cache: Any, before: Any) -> dict[str, Any]:
        """The parts of a cache that are not the tensors they were, by their places."""
        return {
            str(place): now
            for place, (now, then) in enumerate(zip(self.layout.parts(cache), before, strict=True))
            if not isinstance(now, torch.Tensor) or now is not then
        }

    def prefill(
        self, model: Any, input_ids: Any, attention_mask: Any, position_ids: Any, **inputs: Any
    ) -> Any:
        """A prompt; the model makes the cache."""
        logits, cache = self.caller.read(
            model, input_ids, attention_mask, position_ids, None, inputs, is_first=True
        )
        return logits, self.layout.parts(cache)

    def prefill_in_place(
        self,
        model: Any,
        input_ids: Any,
        attention_mask: Any,
        position_ids: Any,
        cache: Any,
        **inputs: Any,
    ) -> Any:
        """A prompt, into a cache."""
        given = self.layout.built(cache)
        logits, after = self.caller.read(
            model, input_ids, attention_mask, position_ids, given, inputs, is_first=True
        )
        return logits, self.changed(after, cache)

    def decode(
        self, model: Any, input_ids: Any, attention_mask: Any, position_ids: Any, cache: Any
    ) -> Any:
        """One token."""
        given = self.layout.built(cache)
        logits, after = self.caller.read(
            model, input_ids, attention_mask, position_ids, given, {}, is_first=False
        )
        return logits, self.changed(after, cache)

    def decode_unpadded(self, model: Any, input_ids: Any, position_ids: Any, cache: Any) -> Any:
        """One token of texts without padding, which the library attends to without a mask."""
        given = self.layout.built(cache)
        logits, after = self.caller.read(
            model, input_ids, None, position_ids, given, {}, is_first=False
        )
        return logits, self.changed(after, cache)

    def encode(self, model: Any, inputs: Any, attention_mask: Any) -> Any:
        """A source."""
        return self.caller.encoded(model, inputs, attention_mask)

    def begin(self, model: Any, input_ids: Any, attention_mask: Any, states: Any) -> Any:
        """The first token of a decoder."""
        logits, cache = self.caller.decoded(model, input_ids, attention_mask, states, None)
        return logits, self.layout.parts(cache)

    def go_on(
        self, model: Any, input_ids: Any, attention_mask: Any, states: Any, cache: Any
    ) -> Any:
        """Another token of a decoder."""
        given = self.layout.built(cache)
        logits, after = self.caller.decoded(model, input_ids, attention_mask, states, given)
        return logits, self.changed(after, cache)


__all__ = ["Caller", "Entries"]
