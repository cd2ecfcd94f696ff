"""Model traits: what of a library's language model decides how it is called."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from monograph.diagnostics import problem
from monograph.generation.record import TOKEN_LISTS

if TYPE_CHECKING:
    import torch

CacheKind = Literal["dynamic", "static", "sliding"]


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """What the model takes. `prompt_inputs` are further inputs of the prefill, by name.

    `windows` are the lengths of its sliding windows.
    """

    cache: CacheKind
    cache_name: str
    takes_positions: bool
    takes_logits_to_keep: bool
    has_encoder: bool
    windows: tuple[int, ...]
    is_recurrent: bool
    vocab_size: int
    max_length: int
    prompt_inputs: tuple[str, ...] = ()


def traits_of(
    model: torch.nn.Module, cache: CacheKind, max_length: int, prompt_inputs: tuple[str, ...]
) -> ModelTraits:
    """What a model takes.

    Raises: not-generative.
    """
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "get_text_config") or not hasattr(
        model, "prepare_inputs_for_generation"
    ):
        refuse(model, "it is no model that generates")
    if cache not in {"dynamic", "static", "sliding"}:
        refuse(model, f"there is no cache of kind {cache!r}")
    text: Any = config.get_text_config(decoder=True)
    takes = inspect.signature(model.forward).parameters
    name = "cache_params" if "cache_params" in takes else "past_key_values"
    if name not in takes:
        refuse(model, "its forward takes no cache")
    kinds = [str(each) for each in getattr(text, "layer_types", None) or ()]
    window = getattr(text, "sliding_window", None)
    has_windows = isinstance(window, int) and (not kinds or any("sliding" in k for k in kinds))
    if cache == "sliding" and not has_windows:
        refuse(model, "its layers have no sliding windows")
    limit = getattr(text, "max_position_embeddings", None)
    if isinstance(limit, int) and 0 < limit < max_length:
        refuse(model, f"it has positions for {limit} tokens, and max_length is {max_length}")
    has_encoder = bool(getattr(config, "is_encoder_decoder", False))
    if has_encoder and len(prompt_inputs) > 1:
        refuse(model, "of models with an encoder, only one source is captured")
    return ModelTraits(
        cache=cache,
        cache_name=name,
        takes_positions="position_ids" in takes,
        takes_logits_to_keep="logits_to_keep" in takes,
        has_encoder=has_encoder,
        windows=(int(window),) if has_windows and isinstance(window, int) else (),
        is_recurrent=name == "cache_params" or any(k in str(kinds) for k in ("mamba", "linear")),
        vocab_size=int(text.vocab_size),
        max_length=max_length,
        prompt_inputs=prompt_inputs,
    )


SAMPLING: Final = ("do_sample", "temperature", "top_k", "top_p", "repetition_penalty")
PLACES: Final = ("min_length", "min_new_tokens", "forced_bos_token_id")
BEAMS: Final = ("num_beams", "num_return_sequences", "length_penalty", "early_stopping")
NEUTRAL: Final[dict[str, tuple[Any, ...]]] = {
    "num_beam_groups": (1,),
    **dict.fromkeys(("typical_p", "encoder_repetition_penalty", "guidance_scale"), (1.0,)),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size"), (0,)),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), (0,)),
    **dict.fromkeys(("remove_invalid_values", "renormalize_logits", "token_healing"), (False,)),
    **dict.fromkeys(("bad_words_ids", "sequence_bias", "stop_strings", "use_mtp"), ([], {}, False)),
    **dict.fromkeys(("min_p", "top_h", "exponential_decay_length_penalty"), ()),
    **dict.fromkeys(("penalty_alpha", "dola_layers", "prompt_lookup_num_tokens", "max_time"), ()),
    **dict.fromkeys(("constraints", "force_words_ids", "diversity_penalty"), ([], 0)),
    "watermarking_config": (),
}
"""Settings that change tokens, which the loop does not know, and what leaves tokens as they are."""


def settings_of(model: Any) -> dict[str, Any]:
    """What a model's generation_config says of how tokens are chosen.

    Raises: not-generative, where it says what the loop does not do.
    """
    made = model.generation_config
    held = {name: getattr(made, name, None) for name in NEUTRAL}
    found = [n for n, value in held.items() if value is not None and value not in NEUTRAL[n]]
    if found:
        reason = f"its generation_config sets `{found[0]}`, which the loop does not do"
        refuse(model, f"{reason}: set it to None if its tokens are to be chosen without")
    own = {name: getattr(made, name, None) for name in (*SAMPLING, *PLACES, *BEAMS)}
    own |= {name: as_tuple(getattr(made, name, None)) for name in TOKEN_LISTS}
    return {name: value for name, value in own.items() if value is not None}


def as_tuple(value: Any) -> tuple[int, ...]:
    """One token, several or none."""
    return () if value is None else tuple(value) if isinstance(value, list | tuple) else (value,)


def refuse(model: object, reason: str) -> NoReturn:
    """Say why a model cannot be exported for generation. Raises: not-generative."""
    raise problem("not-generative", model=type(model).__name__, reason=reason)


__all__ = ["CacheKind", "ModelTraits", "as_tuple", "refuse", "settings_of", "traits_of"]
