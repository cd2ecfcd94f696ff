"""Which language models each exporter turns into text: ours, transformers' recipe, torch.export.

    python -m bench.generation_peers [--append] [MODEL...]

Tiny random models; a cell says for how many of three prompts (without padding) 20 greedy tokens are
those of the library's `generate`, or what was raised. The recipe is the one for ExecuTorch
(`transformers.integrations.executorch`): one token at a time, batch 1. torch.export captures
prefill and decode with the library's dynamic cache, which the library registers for it.
"""

import argparse
import copy
import logging
import warnings
from collections.abc import Callable

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.integrations import executorch

from bench.results import Results
from monograph import generation
from tests.generation.test_generate import CAUSAL, causal

NEW = 20
LENGTH = 40
SIZES = ((1, 7), (1, 3), (1, 12))
COLUMNS = ("model", "dynamic", "static", "whole loop", "the library's recipe", "torch.export")
AUTO = torch.export.Dim.DYNAMIC

Generate = Callable[[torch.Tensor], torch.Tensor]


def ours(model: PreTrainedModel, kind: str) -> Generate:
    """Our program."""
    program = generation.export(model, max_batch=2, max_length=LENGTH, cache=kind)
    return lambda ids: program.generate(ids, max_new_tokens=NEW, eos_token_id=[])


def our_loop(model: PreTrainedModel) -> Generate:
    """Prefill and loop as one program."""
    given = {"max_batch": 2, "max_length": LENGTH, "cache": "static"}
    program = generation.export(model, **given, whole=True)
    return lambda ids: program.generate_whole(ids, max_new_tokens=NEW, eos_token_id=[])


def recipe(model: PreTrainedModel) -> Generate:
    """The library's recipe, with its own loop; each text begins with the cache as it was."""
    kind = executorch.TorchExportableModuleForDecoderOnlyLM
    model = copy.deepcopy(model)
    model.generation_config.update(cache_implementation="static", use_cache=True)
    wrapped = kind(model, batch_size=1, max_cache_len=LENGTH, device=torch.device("cpu"))
    exported = wrapped.export(input_ids=torch.tensor([[3]]), strict=False)
    fresh = exported.module()

    def generate(ids: torch.Tensor) -> torch.Tensor:
        module, tokens = copy.deepcopy(fresh), ids
        for number in range(ids.shape[1] + NEW - 1):
            position = torch.tensor([number])
            logits = module(input_ids=tokens[:, number : number + 1], cache_position=position)
            if number >= ids.shape[1] - 1:
                tokens = torch.cat([tokens, logits[:, -1].argmax(-1, keepdim=True)], 1)
        return tokens

    return generate


def theirs(model: PreTrainedModel) -> Generate:
    """Prefill and decode by torch.export, with sizes that vary, and a loop of ours around them."""
    executorch.register_dynamic_cache_export_support()
    ids, row = torch.randint(3, 128, (2, 6)), {0: AUTO, 1: AUTO}
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": True}
    shapes = {"input_ids": row, "attention_mask": row, "use_cache": None}
    prefill = torch.export.export(model, (), given, dynamic_shapes=shapes, strict=False).module()
    cache = DynamicCache(config=model.config)
    model(**given, past_key_values=cache)
    layers = [[{0: AUTO, 2: AUTO} for _ in cache.layers] for _ in range(2)]
    given = {
        "input_ids": ids[:, :1],
        "attention_mask": torch.ones(2, 7, dtype=torch.long),
        "use_cache": True,
        "past_key_values": cache,
    }
    shapes["input_ids"] = {0: AUTO}
    shapes |= {"past_key_values": layers}
    decode = torch.export.export(model, (), given, dynamic_shapes=shapes, strict=False).module()

    def generate(ids: torch.Tensor) -> torch.Tensor:
        tokens = ids
        found = prefill(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=True)
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


def verdict(model: PreTrainedModel, make: Callable[[PreTrainedModel], Generate]) -> str:
    """For how many prompts tokens are equal, or the class of the error."""
    equal = 0
    try:
        generate = make(model)
        for rows, length in SIZES:
            ids = torch.randint(3, 128, (rows, length))
            expected = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, eos_token_id=[]
            )
            equal += torch.equal(generate(ids), expected)
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
    names = options.models or list(CAUSAL)
    makes = (
        lambda m: ours(m, "dynamic"),
        lambda m: ours(m, "static"),
        our_loop,
        recipe,
        theirs,  # last: what it registers of caches holds in the whole process
    )
    found: dict[str, list[str]] = {name: [] for name in names}
    for make in makes:
        for name in names:
            with torch.no_grad():
                found[name].append(verdict(causal(name), make))
            print(name, *found[name], sep=" | ", flush=True)
    results.rows.extend((name, *verdicts) for name, verdicts in found.items())
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
