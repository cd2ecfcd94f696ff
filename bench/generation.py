"""One decode step beside the model's own: a Llama of 4 layers, batch 1, both kinds of cache.

    python -m bench.generation [--append]

Wall time, median of alternate runs in one process, one thread. The model's step is what the
library's loop calls: the model with a mask, positions and its cache, without gradients.
"""

import argparse
import logging
import statistics
import time
import warnings
from collections.abc import Callable

import torch
import transformers

from bench.results import Results
from monograph import generation

STEPS = 60
ROUNDS = 5
PROMPT = 32
LENGTH = PROMPT + STEPS * ROUNDS + 8
COLUMNS = ("decode step, wall ms, median", "eager", "ours", "ratio", "goal")
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


def medians(functions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each in turn, in ms."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            for _ in range(STEPS):
                start = time.perf_counter()
                function()
                times[name].append(1e3 * (time.perf_counter() - start))
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
            found = medians(
                {"eager": eager_step(model, kind, ids), "ours": our_step(model, kind, ids)}
            )
            row = (f"hidden {hidden}, {kind} cache", *found.values())
            _, eager, ours = row
            texts = (f"{eager:.2f}", f"{ours:.2f}", f"{ours / eager:.2f}", str(GOAL))
            results.rows.append((row[0], *texts))
    results.show()
    if given.append:
        results.append()


if __name__ == "__main__":
    main()
