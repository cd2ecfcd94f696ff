"""Language models with their caches as arguments, as their documentation calls them.

No registration, no wrapper: a prefill and a decode program, each with dynamic sizes, give the
tokens that `generate` gives, from prompts that are sliced or not, also after saving and loading.
"""

import io
from contextlib import contextmanager, nullcontext

import pytest
import torch
from torch.utils import _pytree as pytree

import monograph
from monograph import ContractError, Dim
from tests.seeding import reseed

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

TOKENS = 20
SMALL = {
    "vocab_size": 128,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
ENDLESS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}


def decoder(family, **changes):
    """A language model without an end, of two layers."""
    reseed(0)
    config = getattr(transformers, f"{family}Config")(**{**SMALL, **ENDLESS, **changes})
    name = "LMHeadModel" if family == "GPT2" else "ForCausalLM"
    model = getattr(transformers, f"{family}{name}")(config).eval()
    model.generation_config.eos_token_id = None
    return model


DECODERS = {
    "llama": lambda: decoder("Llama"),
    "qwen2": lambda: decoder("Qwen2"),
    "gemma2": lambda: decoder("Gemma2", head_dim=8, sliding_window=100),
    "mixtral": lambda: decoder("Mixtral", num_local_experts=4, num_experts_per_tok=2),
    "mistral": lambda: decoder("Mistral", sliding_window=100),
    "gpt2": lambda: decoder("GPT2", n_embd=32, n_layer=2, n_head=4, n_positions=128),
}
BATCH, SEQ, PAST = Dim("batch", min=1, max=8), Dim("seq", min=1, max=60), Dim("past", min=1, max=98)
KV = {0: BATCH, 2: PAST}


def prompt(batch, length, form="contiguous"):
    """Token ids, as callers have them."""
    if form == "sliced":
        return torch.randint(2, 128, (batch + 1, length + 3))[1:, 2:-1]
    if form == "every other":
        return torch.randint(2, 128, (batch, 2 * length))[:, ::2]
    if form == "transposed":
        return torch.randint(2, 128, (length, batch)).T
    return torch.randint(2, 128, (batch, length))


PROMPTS = (
    (2, 7, "contiguous"),
    (3, 5, "sliced"),
    (2, 6, "transposed"),
    (1, 9, "every other"),
    (2, 1, "sliced"),
    (1, 1, "sliced"),
)


def loaded(program):
    """The program, saved and read back."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return monograph.load(file)


def both(model, kv=None):
    """The prefill and the decode program of a model."""
    ids = prompt(2, 7)
    prefill = monograph.export(
        model,
        (),
        {"input_ids": ids, "use_cache": True},
        dynamic_shapes={"input_ids": {0: BATCH, 1: SEQ}, "use_cache": None},
    )
    cache = model(input_ids=ids, use_cache=True).past_key_values
    decode = monograph.export(
        model,
        (),
        {"input_ids": ids[:, -1:], "past_key_values": cache, "use_cache": True},
        dynamic_shapes={
            "input_ids": {0: BATCH},
            "past_key_values": kv or [[KV] * 2, [KV] * 2],
            "use_cache": None,
        },
    )
    assert cache.get_seq_length() == 7
    return prefill, decode


def greedy(prefill, decode, ids, n=TOKENS, cache=None):
    """The prompt and what the two programs make of it; the cache is one object all the time."""
    first, step = prefill.module(), decode.module()
    given = {} if cache is None else {"past_key_values": cache}
    found = first(input_ids=ids, use_cache=True, **given)
    cache, tokens = found.past_key_values, ids
    for at in range(n):
        tokens = torch.cat([tokens, found.logits[:, -1:].argmax(-1)], 1)
        if at < n - 1:
            found = step(input_ids=tokens[:, -1:], past_key_values=cache, use_cache=True)
            assert found.past_key_values is cache
    return tokens, cache


def expected(model, ids, n=TOKENS):
    """What `generate` makes of it."""
    return model.generate(ids, max_new_tokens=n, min_new_tokens=n, do_sample=False)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "mistral" else []) for name in DECODERS],
)
@torch.no_grad()
def test_tokens_of_a_decoder(name):
    """At sizes unlike the example; the decode program is given slices of the tokens so far."""
    model = DECODERS[name]()
    programs = both(model)
    for forms, prompts in ((programs, PROMPTS), (tuple(map(loaded, programs)), PROMPTS[1:3])):
        for batch, length, how in prompts:
            ids = prompt(batch, length, how)
            tokens, cache = greedy(*forms, ids)
            assert torch.equal(tokens, expected(model, ids))
            assert type(cache) is transformers.DynamicCache
            assert cache.get_seq_length() == length + TOKENS - 1


@pytest.mark.parametrize("name", ["llama", "gpt2"])
@torch.no_grad()
def test_a_decode_program_takes_any_layout(name):
    """Keys and values that are views, transposed, or of one element."""
    model = DECODERS[name]()
    _, decode = both(model)
    step = decode.module()
    for batch, past in ((3, 4), (1, 1)):
        heads = 2 if name == "llama" else 4
        states = torch.randn(2, 2, past, batch, heads, 9)[..., :8].permute(0, 1, 3, 4, 2, 5)
        caches = [transformers.DynamicCache(config=model.config) for _ in range(2)]
        for cache in caches:
            for layer, (k, v) in enumerate(states):
                cache.update(k, v, layer)
        ids = prompt(batch, 6)[:, 2:3]
        actual = step(input_ids=ids, past_key_values=caches[0], use_cache=True)
        wanted = model(input_ids=ids, past_key_values=caches[1], use_cache=True)
        torch.testing.assert_close(actual.logits, wanted.logits)
        torch.testing.assert_close(caches[0].layers[1].keys, caches[1].layers[1].keys)


FORMS = {
    "columns": [[KV] * 2, [KV] * 2],
    "registered": {"key_cache": [KV] * 2, "value_cache": [KV] * 2},
    "flat": [KV] * 4,
    "tuples": ((KV, KV), (KV, KV)),
    "attributes": {"layers": [{"keys": KV, "values": KV}] * 2},
}


@pytest.mark.parametrize("form", FORMS)
@torch.no_grad()
def test_forms_of_a_declaration(form):
    """Recipes write the sizes of a cache in several ways, which say the same."""
    model = DECODERS["llama"]()
    ids = prompt(2, 7)
    cache = model(input_ids=ids, use_cache=True).past_key_values
    decode = monograph.export(
        model,
        (),
        {"input_ids": ids[:, -1:], "past_key_values": cache, "use_cache": True},
        dynamic_shapes={"input_ids": {0: BATCH}, "past_key_values": FORMS[form], "use_cache": None},
    )
    keys = [each for each in decode.contract.clauses if "layers" in each.path]
    assert [each.path.rpartition(".")[2] for each in keys] == ["keys", "values"] * 2
    assert all("past" in str(each.shape) and "batch" in str(each.shape) for each in keys)


@contextmanager
def registered():
    """Transformers' own recipe, for a while."""
    recipe = pytest.importorskip("transformers.integrations.executorch")
    recipe.register_dynamic_cache_export_support()
    try:
        yield
    finally:
        pytree._deregister_pytree_node(transformers.DynamicCache)
        torch.fx._pytree.SUPPORTED_NODES.pop(transformers.DynamicCache, None)


@torch.no_grad()
def test_a_registered_cache_keeps_its_registration():
    """Where that loses nothing."""
    model = DECODERS["llama"]()
    with registered():
        programs = both(model, {"key_cache": [KV] * 2, "value_cache": [KV] * 2})
        paths = [each.path for each in programs[1].contract.clauses]
        assert "past_key_values['key_cache'][0]" in paths
        ids = prompt(3, 5)
        assert torch.equal(greedy(*programs, ids)[0], expected(model, ids))


@pytest.mark.parametrize("recipe", [False, True])
@torch.no_grad()
def test_a_sliding_window_stays_one(recipe):
    """A cache whose window is full does not grow, also where a recipe loses what its layers are."""
    model = decoder("Gemma2", head_dim=8, sliding_window=8)
    long, past = Dim("long", min=9, max=60), Dim("past", min=9, max=90)
    ids = prompt(2, 12)
    with registered() if recipe else nullcontext():
        prefill = monograph.export(
            model,
            (),
            {"input_ids": ids, "use_cache": True},
            dynamic_shapes={"input_ids": {0: BATCH, 1: long}, "use_cache": None},
        )
        cache = model(input_ids=ids, use_cache=True).past_key_values
        kinds = [type(layer) for layer in cache.layers]
        full = [{0: BATCH}, {0: BATCH, 2: past}]
        decode = monograph.export(
            model,
            (),
            {"input_ids": ids[:, -1:], "past_key_values": cache, "use_cache": True},
            dynamic_shapes={
                "input_ids": {0: BATCH},
                "past_key_values": [full, full],
                "use_cache": None,
            },
        )
        for batch, length in ((2, 12), (3, 15)):
            ids = prompt(batch, length)
            tokens, cache = greedy(prefill, decode, ids)
            assert torch.equal(tokens, expected(model, ids))
            assert [type(layer) for layer in cache.layers] == kinds
            assert cache.layers[0].keys.shape[2] == 7
            assert cache.layers[0].cumulative_length == length + TOKENS - 1
        short = model(input_ids=prompt(2, 4), use_cache=True).past_key_values
        with pytest.raises(ContractError):
            decode.module()(input_ids=ids[:2, -1:], past_key_values=short, use_cache=True)


@torch.no_grad()
def test_tokens_with_a_static_cache():
    """Written in place; made by the caller, empty at first."""
    model = DECODERS["llama"]()
    ids = prompt(2, 7)

    def empty():
        return transformers.StaticCache(config=model.config, max_cache_len=40)

    cache = empty()
    prefill = monograph.export(
        model,
        (),
        {"input_ids": ids, "past_key_values": cache, "use_cache": True},
        dynamic_shapes={
            "input_ids": {0: BATCH, 1: Dim("seq", min=2, max=20)},
            "past_key_values": None,
            "use_cache": None,
        },
    )
    model(input_ids=ids, past_key_values=cache, use_cache=True)
    decode = monograph.export(
        model,
        (),
        {"input_ids": ids[:, -1:], "past_key_values": cache, "use_cache": True},
        dynamic_shapes={
            "input_ids": {0: BATCH},
            "past_key_values": [[{0: BATCH}] * 2] * 2,
            "use_cache": None,
        },
    )
    for batch, length in ((2, 7), (3, 9)):
        ids = prompt(batch, length)
        tokens, _ = greedy(prefill, decode, ids, cache=empty())
        assert torch.equal(tokens, expected(model, ids))


def t5():
    """Give a T5 of two layers."""
    reseed(0)
    small = {"vocab_size": 128, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2}
    config = transformers.T5Config(**small, **ENDLESS, num_heads=4, decoder_start_token_id=0)
    model = transformers.T5ForConditionalGeneration(config).eval()
    length = Dim("source", min=1, max=40)
    return model, lambda batch, n: {"input_ids": prompt(batch, n, "sliced")}, length


def whisper():
    """Give a Whisper of two layers, whose encoder hears 50 frames."""
    reseed(0)
    config = transformers.WhisperConfig(
        vocab_size=128,
        num_mel_bins=8,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=50,
        max_target_positions=64,
        decoder_start_token_id=3,
        **ENDLESS,
    )
    model = transformers.WhisperForConditionalGeneration(config).eval()
    return model, lambda batch, _: {"input_features": torch.randn(batch, 100, 8).mT}, None


@pytest.mark.parametrize("made", [t5, whisper])
@torch.no_grad()
def test_tokens_of_an_encoder_and_a_decoder(made):
    """The encoder's result and a cache of both attentions are arguments of the decoder."""
    model, source, length = made()
    example = source(2, 7)
    heard = {0: BATCH} if length is None else {0: BATCH, 1: length}
    across = {0: BATCH} if length is None else {0: BATCH, 2: length}
    name = next(iter(example))
    encoder = monograph.export(
        model.get_encoder(),
        (),
        example,
        dynamic_shapes={name: heard if length is not None else {0: BATCH}},
    )
    states = model.get_encoder()(**example)
    start = torch.full((2, 1), model.config.decoder_start_token_id)
    given = {"decoder_input_ids": start, "encoder_outputs": states, "use_cache": True}
    shapes = {"decoder_input_ids": {0: BATCH}, "encoder_outputs": [heard], "use_cache": None}
    first = monograph.export(model, (), given, dynamic_shapes=shapes)
    cache = model(**given).past_key_values
    model(**given, past_key_values=cache)
    past = {0: BATCH, 2: Dim("past", min=1, max=50)}
    kept = {
        "self_attention_cache": [[past] * 2] * 2,
        "cross_attention_cache": [[across] * 2] * 2,
    }
    step = monograph.export(
        model,
        (),
        {**given, "past_key_values": cache},
        dynamic_shapes={**shapes, "past_key_values": kept},
    )
    for batch, n in ((2, 7), (3, 9), (1, 4), (1, 1)):
        inputs = source(batch, n)
        start = torch.full((batch, 1), model.config.decoder_start_token_id)
        tokens, wanted = start, start
        states = encoder.module()(**inputs)
        found = first.module()(decoder_input_ids=start, encoder_outputs=states, use_cache=True)
        eager = model(**inputs, decoder_input_ids=start, use_cache=True)
        assert type(found.past_key_values) is transformers.EncoderDecoderCache
        for _ in range(TOKENS):
            tokens = torch.cat([tokens, found.logits[:, -1:].argmax(-1)], 1)
            wanted = torch.cat([wanted, eager.logits[:, -1:].argmax(-1)], 1)
            found = step.module()(
                decoder_input_ids=tokens[:, -1:],
                encoder_outputs=states,
                past_key_values=found.past_key_values,
                use_cache=True,
            )
            eager = model(
                **inputs,
                decoder_input_ids=wanted[:, -1:],
                past_key_values=eager.past_key_values,
                use_cache=True,
            )
        assert torch.equal(tokens, wanted)
        many = {"max_new_tokens": TOKENS, "min_new_tokens": TOKENS, "do_sample": False}
        made_by = model.generate(**inputs, **many)
        assert torch.equal(tokens[:, -TOKENS:], made_by[:, -TOKENS:])
