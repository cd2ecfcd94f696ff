"""Several entries over one state: methods and functions of a module, in one file, by name."""

import copy
import io

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim, MonographError, Programs, call


class Pair(nn.Module):
    """Two encoders, which count their calls, and what uses them."""

    def __init__(self):
        super().__init__()
        self.image = nn.Linear(4, 8)
        self.text = nn.Embedding(10, 8)
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("calls", torch.zeros(1), persistent=False)
        self.register_buffer("tail", self.seen[1:])
        self.table = torch.arange(3.0)

    def encode_image(self, x):
        """Count in place, and by another tensor."""
        self.seen.add_(x.shape[0])
        self.calls = self.calls + 1
        return torch.relu(self.image(x)) * self.scale

    def encode_text(self, ids):
        """Read what the other counts, through a view as well."""
        return self.text(ids).mean(1) * self.scale + self.tail.sum() + self.calls

    def forward(self, x, ids):
        """Both."""
        return self.encode_image(x) @ self.encode_text(ids).T

    def twice(self, x, ids):
        """Call the module itself."""
        return self(x, ids) + self(x + 1, ids) + self.table[0]


def halved(model, x):
    """Be a free function that writes to the state."""
    model.seen.mul_(0.5)
    return model.image(x) + model.seen.sum()


X, IDS = torch.randn(2, 4), torch.randint(0, 10, (3, 5))
ENTRIES = {
    "encode_image": call(X),
    "encode_text": call(IDS),
    "score": call(X, ids=IDS),
    "twice": call(X, IDS),
    "halved": call(X).of(halved),
    "project": call(X).of("image"),
    "last": call(X).of(lambda model, x: model.image(x) + model.tail[-1]),
}


def pair():
    """Give a module and its entries."""
    torch.manual_seed(0)
    model = Pair()
    rows, n = Dim("rows", min=1, max=8), Dim("n", min=1)
    shapes = {
        "encode_image": ({0: rows},),
        "encode_text": ({0: n},),
        "score": {"x": {0: rows}, "ids": {0: n}},
        "twice": ({0: rows}, {0: n}),
    }
    return model, monograph.export_methods(model, ENTRIES, dynamic_shapes=shapes)


def twin(model):
    """Copy a module with the memory that it shares."""
    other = copy.deepcopy(model)
    other.tail = other.seen[1:]
    return other


def ran(encode_image, encode_text, score, twice, half, project, last):
    """Call all entries in an order in which each reads what those before it wrote."""
    found = [encode_image(torch.ones(5, 4)), encode_text(IDS[:2]), score(X, ids=IDS)]
    found += [half(X), twice(torch.ones(3, 4), IDS), half(X), project(X), last(X)]
    return [*found, encode_text(IDS)]


def eager(model):
    """Call what entries are captured of."""
    return ran(
        *(model.encode_image, model.encode_text, model, model.twice),
        lambda x: halved(model, x),
        model.image,
        lambda x: model.image(x) + model.tail[-1],
    )


def of_programs(programs):
    """Call the entries."""
    run = programs.module()
    names = ("encode_image", "encode_text", "score", "twice", "halved", "project", "last")
    return ran(*(getattr(run, name) for name in names))


def loaded(programs):
    """Give the entries, saved and read back."""
    file = io.BytesIO()
    programs.save(file)
    file.seek(0)
    return Programs.load(file)


@pytest.mark.parametrize("form", ["plain", "lowered", "loaded", "both"])
def test_entries_see_what_others_write(form):
    """In whatever order, also through views, after lowering and in a file."""
    model, programs = pair()
    wanted = eager(twin(model))
    if form in {"lowered", "both"}:
        programs = programs.run_decompositions()
    if form in {"loaded", "both"}:
        programs = loaded(programs)
    for actual, expected in zip(of_programs(programs), wanted, strict=True):
        torch.testing.assert_close(actual, expected)


def test_names_are_those_of_the_model():
    """Of state and of module calls, whatever an entry is captured of."""
    model, programs = pair()
    for name, program in programs.items():
        assert program.state_dict.keys() == model.state_dict().keys(), name
        assert all(
            program.state_dict[each] is programs.state_dict[each] for each in model.state_dict()
        )
        program.validate()
    calls = [each.fqn for each in programs["twice"].module_call_graph]
    assert calls == ["", "image", "image@1", "text", "text@1"]
    inner = monograph.unflatten(programs["encode_text"])
    torch.testing.assert_close(inner(IDS), model.encode_text(IDS))


def test_the_model_comes_back_untouched():
    """No attribute, no write."""
    model, _ = pair()
    assert model.calls == 0
    assert not model.seen.any()
    assert vars(model).keys() == vars(Pair()).keys()


def test_every_entry_verifies():
    """Beside what it was captured of."""
    model, programs = pair()
    verified = programs.verify(model, samples=4)
    assert {name for name, found in verified.items() if found} == set(ENTRIES)


def test_weights_are_written_once(tmp_path):
    """And torch's own reader opens each entry."""
    model = nn.Sequential(nn.Linear(256, 256))
    x = torch.randn(2, 256)
    free = {str(i): lambda m, x: m(x) * 2 for i in range(3)}
    programs = monograph.export_methods(model, {f"e{i}": call(x).of(f) for i, f in free.items()})
    programs.save(tmp_path / "three.pt2")
    n_bytes = sum(each.nbytes for each in model.parameters())
    assert n_bytes < (tmp_path / "three.pt2").stat().st_size < 1.2 * n_bytes
    reader = pytest.importorskip("torch.export.pt2_archive._package")
    found = reader.load_pt2(tmp_path / "three.pt2").exported_programs
    for name in programs:
        torch.testing.assert_close(found[name].module()(x), model(x) * 2)
        one = monograph.load(tmp_path / "three.pt2", model=name)
        torch.testing.assert_close(one.module()(x), model(x) * 2)


def test_a_file_is_hardly_larger_than_its_weights(tmp_path):
    """With many operators in several entries, and examples that are large and alike."""

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(24))

        def forward(self, x, cache):
            for layer in self.layers:
                x = torch.relu(layer(x)) + x
            return x + cache[0]

    model, args = Deep(), (torch.ones(2, 128), torch.zeros(512, 128))
    entries = {f"e{i}": call(*args).of(lambda m, x, c, i=i: m(x + i, c)) for i in range(4)}
    programs = monograph.export_methods(model, entries)
    programs.save(tmp_path / "four.pt2")
    n_bytes = sum(each.nbytes for each in model.parameters())
    assert (tmp_path / "four.pt2").stat().st_size < 1.05 * n_bytes
    again = Programs.load(tmp_path / "four.pt2")
    for name in programs:
        expected = programs[name].module()(*args)
        assert torch.equal(again[name].module()(*again[name].example_inputs[0]), expected)


def test_weights_beside_the_file_are_shared(tmp_path):
    """Of entries that are loaded together."""
    model, programs = pair()
    programs.save(tmp_path / "pair.pt2", weights="pair.safetensors")
    again = Programs.load(tmp_path / "pair.pt2")
    for actual, expected in zip(of_programs(again), eager(twin(model)), strict=True):
        torch.testing.assert_close(actual, expected)


def test_two_adapters_over_one_base():
    """What is not given is shared, also by the entries of the other."""
    model, programs = pair()
    other = programs.with_state({"scale": torch.tensor(3.0)})
    name = "image.weight"
    assert all(each.state_dict[name] is model.image.weight for each in other.values())
    scales = {id(each.state_dict["scale"]) for each in other.values()}
    assert len(scales) == 1
    once, thrice = (each.module().encode_image(X) for each in (programs, other))
    torch.testing.assert_close(thrice, once * 1.5)


@pytest.mark.parametrize(
    "given",
    [
        {"nobody": torch.ones(1)},
        {"scale": torch.ones(2)},
        {"scale": torch.ones((), dtype=torch.float64)},
        {"seen": torch.ones(3)},
        {"tail": torch.ones(2)},
    ],
)
def test_state_that_does_not_fit(given):
    """By name; memory that a call writes to is shared as it was."""
    _, programs = pair()
    for each in (programs, programs["score"]):
        with pytest.raises(MonographError, match=next(iter(given))) as refused:
            each.with_state(given)
        assert refused.value.diagnostic.name == "weights-do-not-fit"


def test_state_that_shares_its_memory_as_before():
    """A buffer and its view are given together."""
    model, programs = pair()
    seen = torch.full((3,), 4.0)
    other = programs.with_state({"seen": seen, "tail": seen[1:]})
    wanted = twin(model)
    wanted.seen.fill_(4.0)
    for actual, expected in zip(of_programs(other), eager(wanted), strict=True):
        torch.testing.assert_close(actual, expected)
    assert not model.seen.any()


def refused(model, entries, **options):
    """Give what refuses them."""
    with pytest.raises(MonographError) as found:
        monograph.export_methods(model, entries, **options)
    return found.value


def test_refusals_name_the_entry():
    """A method that is not there, inputs that do not fit, sizes of two ranges, a changed list."""
    model, _ = pair()
    assert refused(model, {"a": call(X).of("encode_img")}).diagnostic.name == "entry-not-found"
    assert refused(model, {"a": call(X)}, dynamic_shapes={"b": None}).diagnostic.name == (
        "entry-not-found"
    )
    assert refused(nn.Linear, {"a": call(X)}).diagnostic.name == "not-a-module"
    error = refused(model, {"encode_text": call(IDS), "encode_image": call(X, X)})
    assert "the entry `encode_image`" in str(error)
    shapes = {
        "encode_image": ({0: Dim("rows", min=1, max=8)},),
        "project": ({0: Dim("rows", min=1, max=4)},),
    }
    entries = {"encode_image": call(X), "project": call(X).of("image")}
    error = refused(model, entries, dynamic_shapes=shapes)
    assert error.diagnostic.name == "spec-dim-conflict"
    error = refused(model, {"grow": call(X).of(lambda m, x: m.table.add_(1) + x[0, 0])})
    assert error.diagnostic.name == "mutated-constant"


def test_programs_of_two_models_are_no_entries():
    """They hold other tensors of one name."""
    a, b = (monograph.export(nn.Linear(4, 3), (X,)) for _ in range(2))
    with pytest.raises(MonographError) as found:
        Programs({"a": a, "b": b})
    assert found.value.diagnostic.name == "entries-differ"


def test_entries_tell_of_themselves():
    """Sizes that entries share, names, and an unknown one."""
    _, programs = pair()
    assert set(programs.sizes["rows"]) == {"encode_image", "score", "twice"}
    assert "rows is one size in encode_image, score, twice" in str(programs)
    with pytest.raises(AttributeError, match="encode_image"):
        programs.module().encode()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_methods_are_copied(copied):
    """As any module is; one of deep copies has a state of its own."""
    model, programs = pair()
    methods = copied(programs.module())
    seen = model.seen.clone()
    expected = torch.relu(model.image(X)) * model.scale
    torch.testing.assert_close(methods.encode_image(X), expected)
    assert torch.equal(model.seen, seen) == (copied is copy.deepcopy)


def test_a_module_is_no_function_of_the_model():
    """It would be called with the model: one of the model is named by its path."""
    error = refused(nn.Linear(4, 3), {"encode": call(X).of(nn.Linear(4, 3))})
    assert error.diagnostic.name == "entry-not-found"


def test_weights_made_in_inference_mode_are_refused():
    """Autograd cannot train them."""
    with torch.inference_mode():
        weight = torch.randn(3, 4)
    programs = monograph.export_methods(nn.Linear(4, 3), {"forward": call(X)})
    with pytest.raises(MonographError, match="inference mode"):
        programs.with_state({"weight": weight})


@pytest.mark.slow
def test_onnx_models_share_one_file_of_weights(tmp_path):
    """Its size is that of the weights; an entry that keeps state is refused by name."""
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    x = torch.randn(2, 64)
    entries = {"plain": call(x), "double": call(x).of(lambda m, x: m(x) * 2)}
    files = monograph.export_methods(model, entries).to_onnx(tmp_path)
    n_bytes = model[0].weight.nbytes
    assert n_bytes <= (tmp_path / "weights.bin").stat().st_size <= n_bytes + 512
    session = runtime.InferenceSession(files["double"])
    (actual,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    torch.testing.assert_close(torch.tensor(actual), model(x) * 2)
    with pytest.raises(MonographError, match="entry `encode_image`"):
        pair()[1].to_onnx(tmp_path / "more")
