"""One decode step beside the model's own and torch.export's: a Llama of 4 layers, batch 1.

    python -m bench.generation [--append]

Processor time, median of alternate runs in one process, one thread, with both kinds of cache. The
model's step is what the library's loop calls: the model with a mask, positions and its cache,
without gradients. torch.export's program is of that call with a dynamic cache, which the library
registers for it; with a static one it is the library's recipe for ExecuTorch.
"""

import argparse
import copy
import logging
import statistics
import time
import warnings
from collections.abc import Callable

import torch
import transformers
from transformers.integrations import executorch

from bench.results import Results
from monograph import generation

STEPS = 60
ROUNDS = 5
PROMPT = 32
LENGTH = PROMPT + STEPS * ROUNDS + 8
COLUMNS = ("decode step, processor ms", "eager", "ours", "ratio", "torch.export", "ratio", "goal")
GOAL = 0.9


def llama(hidden: int) -> torch.nn.Module:
    """Four layers, random weights."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=1000,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
    )
    return transformers.LlamaForCausalLM(config).eval()


def eager_step(model: torch.nn.Module, kind: str, ids: torch.Tensor) -> Callable[[], object]:
    """Give the model's step."""
    config = model.config
    cache = (
        transformers.DynamicCache(config=config)
        if kind == "dynamic"
        else transformers.StaticCache(config=config, max_cache_len=LENGTH)
    )
    with torch.no_grad():
        model(input_ids=ids, past_key_values=cache, use_cache=True)
    length, token = [ids.shape[1]], torch.tensor([[5]])

    @torch.no_grad()
    def step() -> object:
        length[0] += 1
        mask = torch.ones(1, length[0], dtype=torch.long)
        position = torch.full((1, 1), length[0] - 1)
        given = {"attention_mask": mask, "position_ids": position, "past_key_values": cache}
        return model(input_ids=token, use_cache=True, **given).logits[:, -1]

    return step


def our_step(model: torch.nn.Module, kind: str, ids: torch.Tensor) -> Callable[[], object]:
    """Give the program's step, with the checks that a caller's tokens get."""
    program = generation.export(model, max_batch=1, max_length=LENGTH, cache=kind)
    state, token = program.start(ids), torch.tensor([5])
    return lambda: program.step(state, token)


def their_step(model: torch.nn.Module, kind: str, ids: torch.Tensor) -> Callable[[], object]:
    """Give the step of torch.export's program."""
    length, token = [ids.shape[1]], torch.tensor([[5]])
    if kind == "static":
        model = copy.deepcopy(model)
        model.generation_config.update(cache_implementation="static", use_cache=True)
        wrapped = executorch.TorchExportableModuleForDecoderOnlyLM(
            model, batch_size=1, max_cache_len=LENGTH, device=torch.device("cpu")
        )
        program = wrapped.export(input_ids=token, strict=False).module()
        for place in range(length[0]):
            program(input_ids=ids[:, place : place + 1], cache_position=torch.tensor([place]))
    else:
        program, cache = dynamic_program(model, ids)
        held = [cache]

    @torch.no_grad()
    def step() -> object:
        length[0] += 1
        if kind == "static":
            return program(input_ids=token, cache_position=torch.tensor([length[0] - 1]))[:, -1]
        mask = torch.ones(1, length[0], dtype=torch.long)
        position = torch.full((1, 1), length[0] - 1)
        given = {"attention_mask": mask, "position_ids": position, "past_key_values": held[0]}
        found = program(input_ids=token, use_cache=True, **given)
        held[0] = found.past_key_values
        return found.logits[:, -1]

    return step


def dynamic_program(model: torch.nn.Module, ids: torch.Tensor) -> tuple[Callable, object]:
    """Give torch.export's program of a step with a dynamic cache, and the cache of the prompt."""
    executorch.register_dynamic_cache_export_support()
    caches = [transformers.DynamicCache(config=model.config) for _ in range(2)]
    with torch.no_grad():
        for each in caches:
            model(input_ids=ids, past_key_values=each, use_cache=True)
        varying = torch.export.Dim.DYNAMIC
        given = {
            "input_ids": ids[:, :1],
            "attention_mask": torch.ones(1, ids.shape[1] + 1, dtype=torch.long),
            "position_ids": torch.full((1, 1), ids.shape[1]),
            "past_key_values": caches[0],
            "use_cache": True,
        }
        shapes = dict.fromkeys(given)
        shapes["attention_mask"] = {1: varying}
        shapes["past_key_values"] = [[{2: varying} for _ in caches[0].layers] for _ in range(2)]
        program = torch.export.export(model, (), given, dynamic_shapes=shapes, strict=False)
    return program.module(), caches[1]


def medians(functions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each in turn, in ms."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            for _ in range(STEPS):
                start = time.thread_time()
                function()
                times[name].append(1e3 * (time.thread_time() - start))
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    """Measure, print, append."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--append", action="store_true", help="write into RESULTS.md")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    results = Results("A decode step beside the model's own", COLUMNS)
    for hidden in (64, 256):
        for kind in ("dynamic", "static"):
            model, ids = llama(hidden), torch.randint(3, 1000, (1, PROMPT))
            makes = (eager_step, our_step, their_step)
            steps = {make.__name__: make(model, kind, ids) for make in makes}
            eager, ours, theirs = medians(steps).values()
            figures = (eager, ours, ours / eager, theirs, theirs / eager)
            name = f"hidden {hidden}, {kind} cache"
            results.rows.append((name, *(f"{each:.2f}" for each in figures), str(GOAL)))
    results.show()
    if given.append:
        results.append()


if __name__ == "__main__":
    main()
