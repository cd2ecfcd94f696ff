"""Language models captured for generation give the tokens that the library's `generate` gives.

Tiny configurations with random weights; prompts of several sizes, padded on the left and not;
texts that end at different times; before and after a file.
"""

import copy
import functools
import io
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from monograph import ContractError, MonographError, generation
from tests.seeding import reseed

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

SMALL = {
    "vocab_size": 128,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
WINDOWS = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 8}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
MAMBA = {"num_heads": 8, "head_dim": 8, "state_size": 16, "n_groups": 2, "chunk_size": 8}
JAMBA = {
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "mamba_d_state": 8,
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
}
CAUSAL = {
    "llama": ("Llama", {}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 8}),
    "gemma2": ("Gemma2", {"head_dim": 8, **WINDOWS}),
    "gemma3": ("Gemma3Text", {"head_dim": 8, **WINDOWS}),
    "mistral": ("Mistral", {"sliding_window": 8}),
    "mixtral": ("Mixtral", {**EXPERTS, "sliding_window": None}),
    "gpt2": (
        "GPT2",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "num_key_value_heads": 4, "n_positions": 128},
    ),
    "phi3": ("Phi3", {}),
    "mamba2": ("Mamba2", {**MAMBA, "expand": 2}),
    "jamba": ("Jamba", JAMBA),
}
QUICK = {("llama", "static"), ("gemma2", "dynamic")}
KINDS = [
    pytest.param(name, kind, marks=[] if (name, kind) in QUICK else pytest.mark.slow)
    for name in CAUSAL
    for kind in ("dynamic", "static", "sliding")
    if kind != "sliding" or name in {"gemma2", "gemma3", "mistral"}
]
KINDS_OF_CACHE = [pytest.param("dynamic", marks=pytest.mark.slow), "static"]
PROMPTS = ((2, 7, 0), (3, 5, 2), (1, 1, 0), (4, 12, 5))
"""Rows, length, and how much of the last row is padding."""
SAMPLED = {"do_sample": True, "top_k": 20, "top_p": 0.9, "temperature": 0.8}


def causal(name):
    """Give a model of two layers."""
    reseed(0)
    family, changes = CAUSAL[name]
    config = getattr(transformers, f"{family}Config")(**{**SMALL, **changes})
    kind = "GPT2LMHeadModel" if name == "gpt2" else f"{family.removesuffix('Text')}ForCausalLM"
    return getattr(transformers, kind)(config).eval()


def prompt(rows, length, padding):
    """Token ids and mask; the last row has most padding."""
    ids = torch.randint(3, 128, (rows, length))
    mask = torch.ones_like(ids)
    for row in range(rows):
        mask[row, : min(padding, length - 1) * row // max(rows - 1, 1)] = 0
    return ids * mask, mask


def loaded(program):
    """Save and read back."""
    file = io.BytesIO()
    program.save(file)
    file.seek(0)
    return generation.load(file)


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_tokens_are_those_of_the_library(name, kind):
    """Greedy and sampled, with a penalty, until each text ends."""
    model = causal(name)
    program = generation.export(model, max_batch=4, max_length=80, cache=kind)
    for form in (program, loaded(program)):
        ended = set()
        for rows, length, padding in PROMPTS:
            ids, mask = prompt(rows, length, padding)
            given = {"attention_mask": mask, "max_new_tokens": 50}
            expected = model.generate(ids, **given)
            ended |= {int(n) for n in (expected == 2).int().argmax(1)}
            assert torch.equal(form.generate(ids, **given), expected)
            given |= {**SAMPLED, "repetition_penalty": 1.2, "max_new_tokens": 12}
            found = []
            for generate in (model.generate, form.generate):
                torch.manual_seed(7)
                found.append(generate(ids, **given))
            assert torch.equal(*found)


@functools.cache
def llama(**changes):
    """Give a Llama and its program."""
    model = causal("llama")
    return model, generation.export(
        model, **{"max_batch": 2, "max_length": 24, "cache": "static", **changes}
    )


@pytest.mark.parametrize("kind", KINDS_OF_CACHE)
def test_texts_end_at_different_times(kind):
    """Those that ended are padded; all end with the last one, which may be at once."""
    model, program = llama(cache=kind)
    reseed(8)  # where some texts end early, and some at once
    ids, mask = prompt(2, 6, 2)
    free = model.generate(ids, attention_mask=mask, max_new_tokens=12, eos_token_id=[])
    lengths = set()
    for column in range(6, 18):
        ends = [int(free[0, column])]
        given = {"attention_mask": mask, "max_new_tokens": 12, "eos_token_id": ends}
        expected = model.generate(ids, **given)
        assert torch.equal(program.generate(ids, **given), expected)
        lengths.add(expected.shape[1])
    assert len(lengths) > 1


@pytest.mark.parametrize("kind", KINDS_OF_CACHE)
def test_masks_of_any_form(kind):
    """With holes, on the right, of a text without tokens, and of other types."""
    model, program = llama(cache=kind)
    ids, mask = prompt(2, 6, 2)
    masks = [mask.bool(), mask.float(), mask * 2]
    for places in ((1, [5]), (0, [2]), (1, [0, 3]), (1, range(6))):
        masks.append(torch.ones_like(ids))
        masks[-1][places[0], list(places[1])] = 0
    for each in masks:
        for penalty in (1.0, 1.5):
            given = {"attention_mask": each, "repetition_penalty": penalty, "max_new_tokens": 9}
            assert torch.equal(program.generate(ids, **given), model.generate(ids, **given))


def test_threads_share_a_program():
    """Each with prompts of its own, at lengths of several entries."""
    model, program = llama(cache="dynamic")
    texts = [prompt(1 + n % 2, n, 0)[0] for n in range(1, 9)]
    expected = [model.generate(each, max_new_tokens=9) for each in texts]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda ids: program.generate(ids, max_new_tokens=9), texts * 4)
    assert all(map(torch.equal, found, expected * 4))


@pytest.mark.parametrize("kind", KINDS_OF_CACHE)
def test_two_states_share_nothing(kind):
    """Steps of one leave the other alone, and logits are the model's."""
    model, program = llama(cache=kind)
    texts = [prompt(2, n, 0)[0] for n in (5, 9)]
    states = [program.start(ids) for ids in texts]
    for _ in range(6):
        for place, state in enumerate(states):
            with torch.no_grad():
                wanted = model(texts[place]).logits[:, -1]
            torch.testing.assert_close(state.logits, wanted, atol=1e-4, rtol=1e-4)
            tokens = state.logits.argmax(-1)
            texts[place] = torch.cat([texts[place], tokens[:, None]], 1)
            program.step(state, tokens)


@pytest.mark.parametrize("kind", KINDS_OF_CACHE)
def test_what_is_refused_leaves_the_state_alone(kind):
    """Too long, too many, no token, of another program: by name, before anything runs."""
    _, program = llama(cache=kind)
    _, other = llama(cache=kind, max_batch=3)
    ids, _ = prompt(2, 20, 0)
    state = program.start(ids)
    before = [each.clone() for each in state.cache if isinstance(each, torch.Tensor)]
    good = state.logits.argmax(-1)
    attempts = {
        "generation-limit": [
            lambda: program.generate(ids, max_new_tokens=6),
            lambda: program.generate(ids.repeat(2, 1), max_new_tokens=1),
            lambda: program.start(torch.ones(1, 25, dtype=torch.long)),
            lambda: program.start(torch.ones(0, 5, dtype=torch.long)),
            lambda: program.generate(ids[0], max_new_tokens=1),
            lambda: program.start(ids, torch.ones(2, 19, dtype=torch.long)),
            lambda: program.step(state, good[:1]),
        ],
        "token-out-of-range": [
            lambda: program.start(ids + 126),
            lambda: program.step(state, good - 1000),
        ],
        "foreign-state": [lambda: other.step(state, good)],
        "contract-broken": [lambda: program.start(ids.int())],
    }
    for name, calls in attempts.items():
        for attempt in calls:
            with pytest.raises(ContractError) as refused:
                attempt()
            assert refused.value.diagnostic.name == name
    now = [each for each in state.cache if isinstance(each, torch.Tensor)]
    assert all(torch.equal(*pair) for pair in zip(before, now, strict=True))
    for _ in range(4):
        program.step(state, good)
    with pytest.raises(ContractError) as refused:
        program.step(state, good)
    assert refused.value.diagnostic.name == "generation-limit"
    assert program.generate(ids, max_new_tokens=5, eos_token_id=[]).shape == (2, 25)


def test_models_that_are_refused():
    """In training, without a cache, with fewer positions, without windows."""
    model = causal("llama")
    attempts = [
        lambda: generation.export(copy.deepcopy(model).train(), max_length=16),
        lambda: generation.export(model.eval(), max_length=500),
        lambda: generation.export(model.eval(), max_length=16, cache="sliding"),
        lambda: generation.export(torch.nn.Linear(2, 2), max_length=16),
    ]
    for attempt in attempts:
        with pytest.raises(MonographError) as refused:
            attempt()
        assert refused.value.diagnostic.name == "not-generative"


def test_an_adapter_changes_what_is_generated():
    """And shares the rest of the weights."""
    model, program = llama()
    ids, _ = prompt(2, 6, 0)
    name = "model.layers.0.mlp.up_proj.weight"
    changed = torch.randn_like(model.get_parameter(name))
    other = program.with_state({name: changed})
    expected = program.generate(ids, max_new_tokens=18)
    base = "lm_head.weight"
    assert other.programs.state_dict[base] is program.programs.state_dict[base]
    given = {"max_new_tokens": 18}
    changed_model = copy.deepcopy(model)
    changed_model.load_state_dict({name: changed}, strict=False)
    assert torch.equal(other.generate(ids, **given), changed_model.generate(ids, **given))
    assert not torch.equal(expected, other.generate(ids, **given))


def test_a_streamer_is_told_everything():
    """One of transformers has `put` and `end`; a function is told the tokens."""
    _, program = llama()
    ids, _ = prompt(1, 4, 0)
    told = []
    tokens = program.generate(ids, max_new_tokens=5, eos_token_id=[], streamer=told.append)
    assert torch.equal(torch.cat([each.flatten() for each in told]), tokens[0])
    finished = []

    class Streamer:
        put = staticmethod(told.append)
        end = staticmethod(lambda: finished.append(True))

    program.generate(ids, max_new_tokens=2, streamer=Streamer())
    assert finished == [True]


def test_a_copy_of_a_state_has_a_cache_of_its_own():
    """Either copy goes on as if it were alone."""
    _, program = llama()
    ids, _ = prompt(2, 5, 0)
    first = torch.tensor([5, 6])
    expected = program.step(program.start(ids), first)
    for function in (copy.copy, copy.deepcopy):
        state = program.start(ids)
        other = function(state)
        program.step(other, torch.tensor([9, 9]))
        assert torch.equal(program.step(state, first), expected)


@pytest.mark.parametrize("settings", [{}, {"max_new_tokens": 3}, {"max_length": 9}])
def test_how_many_tokens_follow_is_as_the_model_says(settings):
    """Where `generate` is not told."""
    model = causal("llama")
    model.generation_config.update(**settings)
    program = loaded(generation.export(model, max_batch=2, max_length=27))
    ids, _ = prompt(1, 6, 0)
    expected = model.generate(ids, eos_token_id=[])
    assert torch.equal(program.generate(ids, eos_token_id=[]), expected)
    if "max_length" in settings:
        with pytest.raises(ValueError, match="not -1"):
            program.generate(torch.ones(1, 10, dtype=torch.long))


def test_texts_end_by_criteria():
    """Those of the caller, of one text or of all; and not before there are `min_new_tokens`."""
    model, program = llama()
    ids, mask = prompt(2, 6, 2)
    odd = [*range(1, 128, 2)]
    for criteria, ends in (
        ([lambda tokens, _: tokens[:, -1] % 2 == 0], []),
        ([lambda tokens, _: tokens[:, -1] % 4 == 0, lambda tokens, _: tokens.shape[1] > 9], odd),
        ([], odd),
    ):
        for least in (1, 4):
            given = {"attention_mask": mask, "max_new_tokens": 12, "min_new_tokens": least}
            given |= {"stopping_criteria": criteria, "eos_token_id": ends}
            theirs = [lambda t, s, c=c: torch.as_tensor(c(t, s)).expand(2) for c in criteria]
            expected = model.generate(ids, **given | {"stopping_criteria": theirs})
            assert torch.equal(program.generate(ids, **given), expected)


BEAMS = [
    {},
    {"early_stopping": True, "eos_token_id": [2, *range(10, 40)], "repetition_penalty": 1.4},
    {"early_stopping": "never", "length_penalty": 2.0, "num_return_sequences": 3},
    {"length_penalty": -1.5, "eos_token_id": [*range(3, 50)], "min_new_tokens": 4},
    {"length_penalty": 0.0, "pad_token_id": 7, "num_beams": 2, "eos_token_id": 9},
]
"""Options of a beam search; with many tokens that end a text, texts end early."""


@pytest.mark.parametrize("kind", KINDS_OF_CACHE)
def test_beams_are_those_of_the_library(kind):
    """The cache follows the texts that go on."""
    model, program = llama(cache=kind, max_batch=8)
    for sizes in ((2, 6, 2), (1, 1, 0)):
        ids, mask = prompt(*sizes)
        for options in BEAMS:
            given = {"attention_mask": mask, "max_new_tokens": 11, "num_beams": 4, **options}
            assert torch.equal(program.generate(ids, **given), model.generate(ids, **given))


def test_several_texts_of_a_prompt_are_drawn():
    """As the library draws them."""
    model, program = llama(max_batch=8)
    ids, mask = prompt(2, 6, 2)
    given = {**SAMPLED, "attention_mask": mask, "num_return_sequences": 3}
    found = []
    for generate in (model.generate, program.generate):
        torch.manual_seed(5)
        found.append(generate(ids, **given, max_new_tokens=9))
    assert torch.equal(*found)


def test_options_that_make_no_sense():
    """Are refused before anything runs."""
    _, program = llama()
    ids, _ = prompt(1, 4, 0)
    for options in (
        {"temperature": 0.0},
        {"top_k": -1},
        {"top_k": 5.0},
        {"top_p": 1.5},
        {"repetition_penalty": 0.0},
        {"max_new_tokens": 0},
        {"min_new_tokens": -1},
        {"num_beams": 0},
        {"num_beams": 2, "do_sample": True},
        {"num_beams": 2, "streamer": print},
        {"num_return_sequences": 2},
        {"num_return_sequences": 3, "num_beams": 2},
        {"early_stopping": "soon"},
        {"length_penalty": "long"},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            program.generate(ids, **options)
    with pytest.raises(TypeError, match="pixel_values"):
        program.generate(ids, pixel_values=torch.ones(1))
    ran = []
    for options in ({"max_new_tokens": 3.0}, {"eos_token_id": "2"}, {"pad_token_id": "0"}):
        with pytest.raises(TypeError):
            program.generate(ids, **options, streamer=ran.append)
    given = {"eos_token_id": 5, "pad_token_id": -100}
    with pytest.raises(ContractError, match="no token"):
        program.generate(ids.repeat(2, 1), **given, streamer=ran.append)
    assert ran == []


@pytest.mark.parametrize("kind", KINDS_OF_CACHE)
def test_padding_without_a_mask_is_what_the_library_takes_for_it(kind):
    """Tokens that are the pad, unless texts end with it."""
    model, program = llama(cache=kind)
    ids, _ = prompt(2, 6, 0)
    ids[0, :2], ids[1, 3] = 0, 9
    for options in (
        {},
        {"pad_token_id": 9},
        {"eos_token_id": [0, 2]},
        {"eos_token_id": torch.tensor(9)},
        {"repetition_penalty": 1.5, "min_new_tokens": 13},
    ):
        expected = model.generate(ids, max_new_tokens=12, **options)
        assert torch.equal(program.generate(ids, max_new_tokens=12, **options), expected)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"top_k": 3},
        {"do_sample": True, "temperature": 0.6, "top_p": 0.9},
        {"repetition_penalty": 1.5},
        {"suppress_tokens": [500, 40, 90], "begin_suppress_tokens": [17, 63]},
        {"num_beams": 1, "min_length": 0, "remove_invalid_values": False},
        {"eos_token_id": [*range(2, 128, 2)], "min_length": 11, "forced_eos_token_id": 5},
        pytest.param(
            {"forced_bos_token_id": 9, "begin_suppress_tokens": [9], "forced_eos_token_id": [5, 6]},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_settings_of_a_model_are_heeded(settings):
    """Those of its generation_config, else the library's, where `generate` is not told."""
    model = causal("llama")
    model.generation_config.update(**settings)
    program = loaded(generation.export(model, max_batch=2, max_length=24, cache="static"))
    ids, _ = prompt(2, 6, 0)
    for options in ({}, {"do_sample": True}, {"do_sample": False}, {"do_sample": True, "top_k": 0}):
        found = []
        for generate in (model.generate, program.generate):
            torch.manual_seed(3)
            found.append(generate(ids, max_new_tokens=14, **options))
        assert torch.equal(*found)


@pytest.mark.parametrize(
    "settings",
    [
        {"min_p": 0.1},
        {"no_repeat_ngram_size": 2},
        {"bad_words_ids": [[5]]},
    ],
)
def test_settings_that_the_loop_does_not_know_are_refused(settings):
    """By their names, before anything is captured."""
    model = causal("llama")
    model.generation_config.update(**settings)
    with pytest.raises(MonographError) as refused:
        generation.export(model, max_length=16)
    assert refused.value.diagnostic.name == "not-generative"
    assert next(iter(settings)) in refused.value.diagnostic.headline


# --- models with an encoder ----------------------------------------------------------------------
def encoders(name):
    """Give a model, what makes a source, and example inputs."""
    reseed(0)
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    if name == "t5":
        sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
        config = transformers.T5Config(
            vocab_size=128, **sizes, **ends, decoder_start_token_id=0, initializer_factor=5.0
        )
        model = transformers.T5ForConditionalGeneration(config)
        return model.eval(), prompt, {}
    sizes = {
        f"{part}_{what}": number
        for part in ("encoder", "decoder")
        for what, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))
    }
    sizes |= {"vocab_size": 128, "d_model": 32, "decoder_start_token_id": 3, "init_std": 0.3}
    if name == "bart":
        config = transformers.BartConfig(max_position_embeddings=64, **sizes, **ends)
        model = transformers.BartForConditionalGeneration(config)
        return model.eval(), prompt, {}
    config = transformers.WhisperConfig(
        num_mel_bins=8, max_source_positions=50, max_target_positions=64, **sizes, **ends
    )
    model = transformers.WhisperForConditionalGeneration(config).eval()
    settings = {"suppress_tokens": [40, 90, 17], "begin_suppress_tokens": [5, 2]}
    model.generation_config.update(**settings)
    return (
        model,
        lambda rows, *_: (torch.randn(rows, 8, 100), None),
        {"input_features": torch.randn(1, 8, 100)},
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("t5", "dynamic"),
        ("whisper", "static"),
        pytest.param("t5", "static", marks=pytest.mark.slow),
        pytest.param("bart", "dynamic", marks=pytest.mark.slow),
        pytest.param("bart", "static", marks=pytest.mark.slow),
        pytest.param("whisper", "dynamic", marks=pytest.mark.slow),
    ],
)
def test_tokens_of_models_with_an_encoder(name, kind):
    """Of sources of other lengths, padded and not, with suppressed and forced tokens."""
    model, source, inputs = encoders(name)
    program = generation.export(model, max_batch=4, max_length=60, inputs=inputs, cache=kind)
    for form in (program, loaded(program)):
        for sizes in PROMPTS:
            read, mask = source(*sizes)
            given = {} if mask is None else {"attention_mask": mask}
            # Whisper's own generate makes segments of what this gives.
            expected = transformers.GenerationMixin.generate(
                model, read, max_new_tokens=50, do_sample=False, num_beams=1, **given
            )
            assert torch.equal(form.generate(read, mask, max_new_tokens=50), expected)
            if mask is not None:
                expected = model.generate(read, max_new_tokens=9)
                assert torch.equal(form.generate(read, max_new_tokens=9), expected)
    with pytest.raises(TypeError, match="min_p"):
        program.generate(read, mask, min_p=0.1)


def test_a_decoder_needs_a_token_to_begin_with():
    """Or the first token of the vocabulary would be taken for it."""
    model, _, _ = encoders("t5")
    model.generation_config.update(decoder_start_token_id=None)
    model.generation_config.bos_token_id = model.generation_config.decoder_start_token_id = None
    with pytest.raises(MonographError, match="begins with"):
        generation.export(model, max_length=16)
