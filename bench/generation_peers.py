"""Which language models each exporter turns into text: ours, transformers' recipe, torch.export.

    python -m bench.generation_peers [--append] [MODEL...]

Tiny random models; a cell says for how many of three prompts (without padding) 20 greedy tokens are
those of the library's `generate`, or what was raised. The recipes are those for ExecuTorch
(`transformers.integrations.executorch`): one token at a time, batch 1; that of a model with images
has no loop, so only its export is asked for. torch.export captures prefill and decode with the
library's dynamic cache, which the library registers for it, and a loop of ours is around them.
"""

import argparse
import copy
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, EncoderDecoderCache, GenerationMixin, PreTrainedModel
from transformers.integrations import executorch

from bench.results import Results
from monograph import generation
from tests.generation import test_images as images
from tests.generation.test_generate import CAUSAL, causal, encoders
from tests.seeding import reseed

NEW = 20
LENGTH = 40
SIZES = (11, 9, 16)
ENCODERS = ("t5", "bart", "whisper")
IMAGES = ("llava", "paligemma")
COLUMNS = ("model", "dynamic", "static", "whole loop", "the library's recipe", "torch.export")
AUTO = torch.export.Dim.DYNAMIC

Inputs = dict[str, torch.Tensor]
Generate = Callable[[Inputs], torch.Tensor]


@dataclass
class Case:
    """A model, what makes inputs of a length, and the example inputs that our export takes."""

    model: PreTrainedModel
    source: Callable[[int], Inputs]
    inputs: Inputs | None = None

    @property
    def name(self) -> str:
        """The name of its main input."""
        return self.model.main_input_name


def case(name: str) -> Case:
    """One of the tests; without what its generation_config says of tokens beside."""
    if name in CAUSAL:
        return Case(causal(name), lambda n: {"input_ids": torch.randint(3, 128, (1, n))})
    if name in ENCODERS:
        model, source, inputs = encoders(name)
        plain = ("suppress_tokens", "begin_suppress_tokens", "forced_eos_token_id")
        model.generation_config.update(**dict.fromkeys(plain))
        return Case(model, lambda n: {model.main_input_name: source(1, n, 0)[0]}, inputs)
    reseed(0)
    model = getattr(images, name)().eval()
    model.generation_config.update(pad_token_id=0, bos_token_id=1, eos_token_id=2)

    def prompt(n: int) -> Inputs:
        ids, _, pixels = images.prompt(1, n, 0)
        return {"input_ids": ids, "pixel_values": pixels}

    return Case(model, prompt, prompt(min(SIZES)))


def ours(case: Case, kind: str) -> Generate:
    """Our program."""
    given = {"max_batch": 2, "max_length": LENGTH, "cache": kind, "inputs": case.inputs}
    program = generation.export(case.model, **given)
    options = {"max_new_tokens": NEW, "eos_token_id": []}
    return lambda given: program.generate(given.pop(case.name), **given, **options)


def our_loop(case: Case) -> Generate:
    """Prefill and loop as one program."""
    given = {"max_batch": 2, "max_length": LENGTH, "cache": "static", "inputs": case.inputs}
    program = generation.export(case.model, **given, whole=True)
    options = {"max_new_tokens": NEW, "eos_token_id": []}
    return lambda given: program.generate_whole(given[case.name], **options)


def recipe(case: Case) -> Generate:
    """The library's recipe; each text begins with the cache as it was."""
    model = copy.deepcopy(case.model)
    if case.inputs is not None and "pixel_values" in case.inputs:
        executorch.TorchExportableModuleForVLM(model, max_cache_len=LENGTH).export()
        raise NotImplementedError("its generate has no body")
    model.generation_config.update(cache_implementation="static", use_cache=True)
    if model.config.is_encoder_decoder:
        return recipe_with_encoder(model, case)
    kind = executorch.TorchExportableModuleForDecoderOnlyLM
    wrapped = kind(model, batch_size=1, max_cache_len=LENGTH, device=torch.device("cpu"))
    exported = wrapped.export(input_ids=torch.tensor([[3]]), strict=False)
    fresh = exported.module()

    def generate(given: Inputs) -> torch.Tensor:
        module, tokens = copy.deepcopy(fresh), given["input_ids"]
        for number in range(tokens.shape[1] + NEW - 1):
            position = torch.tensor([number])
            logits = module(input_ids=tokens[:, number : number + 1], cache_position=position)
            if number >= given["input_ids"].shape[1] - 1:
                tokens = torch.cat([tokens, logits[:, -1].argmax(-1, keepdim=True)], 1)
        return tokens

    return generate


def recipe_with_encoder(model: PreTrainedModel, case: Case) -> Generate:
    """The recipe of models with an encoder, and its loop; it begins with the model's own token."""
    kind = executorch.Seq2SeqLMExportableModule
    wrapped = kind(model, 1, max_hidden_seq_length=LENGTH, max_cache_length=LENGTH)
    wrapped.export(encoder_input_ids=case.source(10)[case.name])
    encoder, fresh = wrapped.exported_encoder.module(), wrapped.exported_decoder.module()

    def generate(given: Inputs) -> torch.Tensor:
        states, decoder = encoder(given[case.name]), copy.deepcopy(fresh)
        tokens = torch.tensor([[model.generation_config.decoder_start_token_id]])
        for number in range(NEW):
            logits = decoder(tokens[:, -1:], states, torch.tensor([number]))
            tokens = torch.cat([tokens, logits[:, -1].argmax(-1, keepdim=True)], 1)
        return tokens

    return generate


def exported(model: PreTrainedModel, given: dict[str, Any], varying: dict[str, Any]) -> Any:
    """What torch.export makes of a call."""
    shapes = {name: varying.get(name) for name in given}
    return torch.export.export(model, (), given, dynamic_shapes=shapes, strict=False).module()


def theirs(case: Case) -> Generate:
    """Prefill and decode by torch.export, with sizes that vary, and a loop of ours around them."""
    executorch.register_dynamic_cache_export_support()
    model, row = case.model, {0: AUTO, 1: AUTO}
    start = model.generation_config.decoder_start_token_id
    if model.config.is_encoder_decoder:
        return theirs_with_encoder(case, torch.tensor([[start], [start]]))
    given = {name: each.repeat(2, *[1] * (each.ndim - 1)) for name, each in case.source(11).items()}
    given |= {"attention_mask": torch.ones_like(given["input_ids"]), "use_cache": True}
    varying = {"input_ids": row, "attention_mask": row, "pixel_values": {0: AUTO}}
    prefill = exported(model, given, varying)
    cache = DynamicCache(config=model.config)
    model(**given, past_key_values=cache)
    layers = [[{0: AUTO, 2: AUTO} for _ in cache.layers] for _ in range(2)]
    given = {
        "input_ids": given["input_ids"][:, :1],
        "attention_mask": torch.ones(2, 12, dtype=torch.long),
        "use_cache": True,
        "past_key_values": cache,
    }
    varying |= {"input_ids": {0: AUTO}, "past_key_values": layers}
    decode = exported(model, given, varying)

    def generate(given: Inputs) -> torch.Tensor:
        tokens = given["input_ids"]
        found = prefill(**given, attention_mask=torch.ones_like(tokens), use_cache=True)
        for number in range(NEW):
            tokens = torch.cat([tokens, found.logits[:, -1].argmax(-1, keepdim=True)], 1)
            if number + 1 < NEW:
                found = decode(
                    input_ids=tokens[:, -1:],
                    attention_mask=torch.ones_like(tokens),
                    use_cache=True,
                    past_key_values=found.past_key_values,
                )
        return tokens

    return generate


def theirs_with_encoder(case: Case, start: torch.Tensor) -> Generate:
    """The encoder, and a decoder with both caches."""
    model, row = case.model, {0: AUTO, 1: AUTO}
    source = case.source(7)[case.name]
    source = source.repeat(2, *[1] * (source.ndim - 1))
    varying = row if source.ndim == len(row) else {0: AUTO}
    encoder = torch.export.export(
        model.get_encoder(), (source,), dynamic_shapes=(varying,), strict=False
    ).module()
    states = encoder(source)
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    model(encoder_outputs=states, decoder_input_ids=start, past_key_values=cache)
    given = {"encoder_outputs": (states[0],), "decoder_input_ids": start, "past_key_values": cache}
    shapes = {"encoder_outputs": (row,), "decoder_input_ids": {0: AUTO}}
    layers = [[{0: AUTO, 2: AUTO} for _ in range(len(cache))] for _ in range(2)]
    decode = exported(model, given, {**shapes, "past_key_values": [layers, layers]})

    def generate(given: Inputs) -> torch.Tensor:
        tokens, states = start[:1], encoder(given[case.name])
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        found = model(encoder_outputs=states, decoder_input_ids=tokens, past_key_values=cache)
        for number in range(NEW):
            tokens = torch.cat([tokens, found.logits[:, -1].argmax(-1, keepdim=True)], 1)
            if number + 1 < NEW:
                cache = found.past_key_values
                token = {"decoder_input_ids": tokens[:, -1:], "past_key_values": cache}
                found = decode(encoder_outputs=(states[0],), **token)
        return tokens

    return generate


def verdict(case: Case, make: Callable[[Case], Generate], kind: str) -> str:
    """For how many prompts tokens are equal, or the class of the error."""
    equal = 0
    # Masks of PaliGemma differ by the kind of cache.
    has_images = case.inputs is not None and "pixel_values" in case.inputs
    try:
        generate = make(case)
        for length in SIZES:
            given = case.source(length)
            expected = GenerationMixin.generate(
                case.model,
                **given,
                max_new_tokens=NEW,
                eos_token_id=[],
                do_sample=False,
                num_beams=1,
                **({"cache_implementation": kind, "disable_compile": True} if has_images else {}),
            )
            equal += torch.equal(generate(dict(given)), expected)
    except Exception as error:  # noqa: BLE001  (each exporter has its own)
        name = getattr(getattr(error, "diagnostic", None), "name", type(error).__name__)
        return f"{equal}/{len(SIZES)}, {name}" if equal else name
    return f"{equal}/{len(SIZES)}"


def main() -> None:
    """Measure, print, append."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--append", action="store_true", help="write into RESULTS.md")
    parser.add_argument("models", nargs="*", help="of the tests, by name; all")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    results = Results("Language models that generate, by exporter", COLUMNS)
    names = options.models or [*CAUSAL, *ENCODERS, *IMAGES]
    makes = (
        (lambda each: ours(each, "dynamic"), "dynamic"),
        (lambda each: ours(each, "static"), "static"),
        (our_loop, "static"),
        (recipe, "static"),
        (theirs, "dynamic"),  # last: what it registers of caches holds in the whole process
    )
    found: dict[str, list[str]] = {name: [] for name in names}
    for make, kind in makes:
        for name in names:
            with torch.no_grad():
                found[name].append(verdict(case(name), make, kind))
            print(name, *found[name], sep=" | ", flush=True)
    results.rows.extend((name, *verdicts) for name, verdicts in found.items())
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
