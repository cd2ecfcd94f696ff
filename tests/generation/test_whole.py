"""Prefill and loop as one program: prompt in, tokens out, as the library's `generate` gives them.

Run by our runner, by PyTorch's own after a hand-over and from a file, and by ONNX Runtime.
"""

import functools
import io

import numpy as np
import pytest
import torch

import monograph
from monograph import ContractError, MonographError, generation
from tests.generation.test_generate import SAMPLED, causal, encoders, loaded, prompt

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

SIZES = ((2, 6, 2), (1, 1, 0), (4, 9, 3), (3, 20, 0))
"""Rows, length, and how much of the last row is padding."""
NEW = 19
SLOW = ("qwen3", "mixtral", "gemma2", "gemma3", "mistral", "mamba2", "jamba")
"""Those with sliding windows, of which the loop keeps all tokens, and recurrences among them."""


@functools.cache
def whole(name, **settings):
    """Give a model and its program."""
    model = causal(name)
    model.generation_config.update(**settings)
    given = {"max_batch": 4, "max_length": 40, "cache": "static", "whole": True}
    return model, generation.export(model, **given)


def cases(model):
    """Prompts, and ends at which texts stop at different times, some at once."""
    for rows, length, padding in SIZES:
        ids, mask = prompt(rows, length, padding)
        given = {"attention_mask": mask, "max_new_tokens": NEW}
        free = model.generate(ids, **given, eos_token_id=[], do_sample=False)
        first, later = int(free[0, length]), int(free[-1, length + 7])
        for ends in ([], [later], [first, later]):
            yield ids, {**given, "eos_token_id": ends}


def inputs(ids, given):
    """What the program takes."""
    numbers = torch.tensor(NEW), torch.tensor(given["eos_token_id"], dtype=torch.long)
    return ids, given["attention_mask"], *numbers, torch.tensor(0)


@pytest.mark.parametrize(
    "name",
    ["llama", "gpt2", *(pytest.param(each, marks=pytest.mark.slow) for each in SLOW)],
)
def test_tokens_are_those_of_the_library(name):
    """Before and after a file, and one at a time."""
    model, program = whole(name)
    lengths = set()
    for form in (program, loaded(program)):
        for ids, given in cases(model):
            expected = model.generate(ids, **given)
            assert torch.equal(form.generate_whole(ids, **given), expected)
            assert torch.equal(form.generate(ids, **given), expected)
            lengths.add(expected.shape[1] - ids.shape[1])
    assert len(lengths) > 2


def test_tokens_are_drawn_as_the_library_draws_them():
    """By the settings of the model, with a penalty, under one seed."""
    model, program = whole("gpt2", **SAMPLED, repetition_penalty=1.3)
    for ids, given in cases(model):
        found = []
        for generate in (model.generate, program.generate, program.generate_whole):
            torch.manual_seed(4)
            found.append(generate(ids, **given))
        assert torch.equal(found[0], found[1])
        assert torch.equal(found[0], found[2])


def test_a_prompt_without_a_mask():
    """Its padding is found, and how many tokens follow is as the model says."""
    model, program = whole("llama")
    ids, _ = prompt(2, 6, 0)
    ids[0, :2] = 0
    assert torch.equal(program.generate_whole(ids), model.generate(ids))


def test_the_whole_cache_is_filled():
    """To its last place, and not beyond."""
    model, program = whole("llama")
    ids, _ = prompt(1, 38, 0)
    given = {"max_new_tokens": 3, "eos_token_id": []}
    assert torch.equal(program.generate_whole(ids, **given), model.generate(ids, **given))
    for call in (
        lambda: program.generate_whole(ids, max_new_tokens=4),
        lambda: program.generate_whole(ids.repeat(5, 1), max_new_tokens=1),
        lambda: program.generate_whole(ids + 128, max_new_tokens=1),
        lambda: program.generate_whole(ids.int(), max_new_tokens=1),
        lambda: program.generate_whole(ids, ids[:, 1:], max_new_tokens=1),
    ):
        with pytest.raises(ContractError):
            call()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t5", "bart", "whisper"])
def test_an_encoder_is_in_the_program_too(name):
    """A source in, tokens out; padded and not, with suppressed and forced tokens."""
    model, source, inputs = encoders(name)
    given = {"max_batch": 4, "max_length": 40, "cache": "static", "whole": True}
    program = generation.export(model, **given, inputs=inputs)
    for form in (program, loaded(program)):
        for sizes in SIZES:
            read, mask = source(*sizes)
            for ends in ([], [40, 50, 60, 70, 80, 90]):
                given = {"attention_mask": mask, "max_new_tokens": NEW, "eos_token_id": ends}
                # Whisper's own generate makes segments of what this gives.
                expected = transformers.GenerationMixin.generate(
                    model, read, do_sample=False, num_beams=1, **given
                )
                assert torch.equal(form.generate_whole(read, **given), expected)


@pytest.mark.slow
def test_settings_are_in_the_program():
    """Of where a token stands in its text: forced, left out, and how many there are at least."""
    settings = {"min_new_tokens": 3, "forced_eos_token_id": 5, "begin_suppress_tokens": (17, 63)}
    model, program = whole("gpt2", **settings)
    for ids, given in cases(model):
        given["eos_token_id"] = [*range(2, 128, 2)]
        expected = model.generate(ids, **given)
        assert torch.equal(program.generate_whole(ids, **given), expected)


def test_models_without_a_whole_loop():
    """Are refused by name; so is a program that has none."""
    with pytest.raises(MonographError) as refused:
        generation.export(causal("llama"), max_length=16, whole=True)
    assert refused.value.diagnostic.name == "not-generative"
    program = generation.export(causal("llama"), max_length=16)
    with pytest.raises(MonographError) as refused:
        program.generate_whole(torch.ones(1, 4, dtype=torch.long))
    assert refused.value.diagnostic.name == "entry-not-found"


@pytest.mark.parametrize(
    "name",
    ["llama", *(pytest.param(n, marks=pytest.mark.slow) for n in ("gpt2", "gemma2", "mamba2"))],
)
def test_pytorch_runs_it(name):
    """After a hand-over, and from a file that PyTorch reads."""
    model, program = whole(name)
    entry, file = program.programs["whole"], io.BytesIO()
    monograph.save(entry, file)
    file.seek(0)
    for theirs in (entry.to_torch().module(), torch.export.load(file).module()):
        for ids, given in cases(model):
            if ids.shape[1] == 1 or not given["eos_token_id"]:  # the first has its own entry
                continue
            with torch.no_grad():
                tokens, number = theirs(*inputs(ids, given))
            assert torch.equal(tokens[:, : int(number)], model.generate(ids, **given))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2"])
def test_onnx_runtime_runs_it(name, tmp_path):
    """As one `Loop`."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, program = whole(name)
    path = tmp_path / "whole.onnx"
    program.programs["whole"].to_onnx(path)
    assert [each.op_type for each in onnx.load(path).graph.node].count("Loop") == 1
    session = runtime.InferenceSession(path)
    names = [each.name for each in session.get_inputs()]
    for ids, given in cases(model):
        if ids.shape[1] == 1:
            continue
        arrays = (each.numpy() for each in inputs(ids, given))
        tokens, number = session.run(None, dict(zip(names, arrays, strict=True)))
        np.testing.assert_array_equal(tokens[:, : int(number)], model.generate(ids, **given))
