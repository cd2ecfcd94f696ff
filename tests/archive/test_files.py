"""What a file keeps and how it is written: weights of all kinds, extras, programs, bytes."""

import gc
import hashlib
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import monograph
from monograph.archive import load_all, saving
from monograph.diagnostics import ArchiveError, BugError, ContractError
from tests.archive.peers import loaded, loaded_there, quietly, saved, saved_there
from tests.seeding import reseed

ROOT = Path(__file__).parents[2]


class Every(torch.nn.Module):
    """State of every kind: tied, strided, overlapping, empty, of odd dtypes, not persistent."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.first = torch.nn.Linear(3, 3)
        self.tied = torch.nn.Linear(3, 3)
        self.tied.weight = self.first.weight
        whole = torch.randn(6, 8)
        self.register_buffer("strided", whole[::2, 1::2])
        self.register_buffer("overlapping", whole[1:3])
        self.register_buffer("turned", torch.randn(4, 5).t())
        self.register_buffer("slice_of_large", torch.randn(100_000)[50_000:50_003])
        self.register_buffer("empty", torch.empty(0, 4))
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("brief", torch.randn(3).bfloat16())
        self.register_buffer("tiny", torch.randn(3).to(torch.float8_e4m3fn))
        self.register_buffer("complexes", torch.randn(3, dtype=torch.complex64).conj())
        self.register_buffer("integers", torch.arange(3, dtype=torch.uint8))
        self.register_buffer("truths", torch.tensor([True, False]))
        self.register_buffer("spread", torch.randn(1).expand(5))
        self.register_buffer("shared_apart", self.first.bias.detach()[1:], persistent=False)
        self.constant = torch.randn(2)
        self.frozen = torch.nn.Parameter(torch.randn(3), requires_grad=False)

    def forward(self, x):
        y = self.tied(self.first(x)) + self.frozen + self.brief + self.integers + self.scalar
        z = self.strided.sum() + self.overlapping.sum() + self.turned.sum() + self.spread.sum()
        w = self.empty.sum() + self.slice_of_large.sum() + self.shared_apart.sum()
        return y + z + w + self.tiny.float(), self.complexes * 2, ~self.truths, self.constant * 2


def every():
    """Give the program."""
    return monograph.export(Every(), (torch.ones(2, 3),))


def state_of(program):
    """Give all tensors by name."""
    return {**program.state_dict, **program.constants}


def test_weights_of_every_kind_come_back():
    """Values, dtypes, shapes, strides, flags and classes are the same; so are the results."""
    program = every()
    content = saved(program)
    again = loaded(content)
    assert again.state_dict.keys() == program.state_dict.keys()
    assert again.constants.keys() == program.constants.keys()
    for name, left in state_of(program).items():
        right = state_of(again)[name]
        kind = left.dtype if left.is_complex() else torch.float64
        assert torch.equal(left.resolve_conj().to(kind), right.to(kind)), name
        assert (left.dtype, left.shape, left.stride()) == (right.dtype, right.shape, right.stride())
        assert left.requires_grad == right.requires_grad, name
        assert isinstance(left, torch.nn.Parameter) == isinstance(right, torch.nn.Parameter), name
    expected = program.module()(torch.ones(2, 3))
    for reader in (loaded, loaded_there):
        for left, right in zip(expected, reader(content).module()(torch.ones(2, 3)), strict=True):
            torch.testing.assert_close(left, right)


def test_what_shares_storage_shares_it_again():
    """Ties, overlapping views, and a buffer outside of the state dict that views a parameter."""
    state = state_of(loaded(saved(every())))
    storages = {name: value.untyped_storage().data_ptr() for name, value in state.items()}
    assert storages["first.weight"] == storages["tied.weight"]
    assert storages["strided"] == storages["overlapping"]
    assert storages["first.bias"] == storages["shared_apart"]


class Ties(torch.nn.Module):
    """One parameter under three names, one in two halves, and one beside another on its bytes."""

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(3, 3)
        self.two = torch.nn.Linear(3, 3)
        self.two.weight = self.one.weight
        self.again = self.one
        self.beside = torch.nn.Parameter(self.one.weight.detach())
        self.bits = torch.nn.Parameter(self.one.bias.detach().view(torch.float16))
        self.same_bits = self.bits

    def forward(self, x):
        return self.two(self.again(x)) @ self.beside + self.bits.sum() * self.same_bits.sum()


def test_one_parameter_stays_one():
    """Its gradient is that of all its uses; another parameter on the same bytes has its own."""
    module = Ties()
    program = monograph.export(module, (torch.ones(2, 3),))
    state = loaded(saved(program)).state_dict
    assert state["one.weight"] is state["two.weight"] is state["again.weight"]
    assert state["bits"] is state["same_bits"]
    assert state["beside"] is not state["one.weight"]
    assert state["beside"].data_ptr() == state["one.weight"].data_ptr()
    assert loaded(saved_there(loaded_there(saved(program)))).state_dict["two.weight"] is not None


def test_torchs_ties_are_ties():
    """What torch.export wrote under two names with one payload is one parameter."""
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    module[1].weight = module[0].weight
    with quietly():
        theirs = torch.export.export(module, (torch.ones(2, 3),))
    again = loaded(saved_there(theirs))
    assert again.state_dict["0.weight"] is again.state_dict["1.weight"]
    named = dict(again.module().named_parameters())
    assert named.keys() == {"0.weight", "0.bias", "1.bias"}


@pytest.mark.parametrize("place", ["input", "output"])
def test_an_int_beyond_64_bits_is_refused(place):
    """Files have no room for it, and nothing is written."""

    class Large(torch.nn.Module):
        def forward(self, x, n):
            return (x * (n % 7), n) if place == "output" else x * (n % 7)

    program = monograph.export(Large(), (torch.ones(2), 2**63))
    with pytest.raises(ArchiveError) as refused:
        saved(program, verify=False)
    assert refused.value.diagnostic.name == "archive-cannot-hold"
    assert "an int beyond 64 bits, 9223372036854775808" in refused.value.diagnostic.headline


def test_a_small_part_of_a_large_storage_is_written_alone():
    """Three numbers of a hundred thousand do not cost four hundred thousand bytes."""
    assert len(saved(every())) < 100_000


def test_writing_to_loaded_weights_leaves_the_file():
    """Weights are mapped copy on write."""
    program = every()
    content = saved(program)
    again = loaded(content)
    with torch.no_grad():
        again.state_dict["scalar"].fill_(7)
    assert saved(loaded(content)) == content


def test_a_mapped_file_may_be_replaced(tmp_path):
    """A loaded program keeps its weights when its file is saved anew or removed."""
    path = tmp_path / "program.pt2"
    monograph.save(every(), path)
    again = monograph.load(path)
    monograph.save(monograph.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),)), path)
    path.unlink()
    gc.collect()
    assert torch.equal(again.state_dict["strided"], Every().strided)


def test_extra_files():
    """Texts come back under their names; ours cannot be given."""
    content = saved(every(), extra_files={"notes.txt": "ü", "a/b.json": "{}"})
    found = {"notes.txt": "", "a/b.json": ""}
    loaded(content, extra_files=found)
    assert found == {"notes.txt": "ü", "a/b.json": "{}"}
    there = {"notes.txt": ""}
    loaded_there(content, extra_files=there)
    assert there["notes.txt"] == "ü"
    with pytest.raises(ArchiveError):
        saved(every(), extra_files={"monograph.model.json": ""})
    with pytest.raises(ArchiveError):
        saved(every(), extra_files={"../up": ""})


def test_several_programs():
    """Each by its name, with its own weights; without a name, the one called `model`."""
    one = monograph.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),))
    content = saved({"first": one, "second": every()})
    found = load_all(io.BytesIO(content))
    assert list(found) == ["first", "second"]
    x = torch.ones(2, 3)
    assert torch.equal(loaded(content, model="first").module()(x), one.module()(x))
    assert torch.equal(found["second"].state_dict["strided"], Every().strided)
    with pytest.raises(ArchiveError, match="first"):
        loaded(content)


class Nine(torch.nn.Module):
    """A model whose contract has a line."""

    def forward(self, x):
        if x.shape[0] > 8:
            return x * 2
        return x


@pytest.mark.parametrize("given", [3, None, torch.nn.Linear(2, 2)])
def test_what_is_no_program(given, tmp_path):
    """One line says what is wanted."""
    with pytest.raises(TypeError, match=f"ExportedProgram.*not '{type(given).__name__}'"):
        monograph.save(given, tmp_path / "program.pt2")


def test_calls_of_another_structure_are_caught_as_torchs():
    """There they are a ValueError."""
    program = monograph.export(torch.nn.Linear(2, 2), (torch.randn(3, 2),))
    with pytest.raises(ValueError, match="expected no argument") as caught:
        program.module()(torch.randn(3, 2), torch.randn(3, 2))
    assert isinstance(caught.value, ContractError)


def test_a_contract_is_as_strict_after_loading():
    """The same calls are refused with the same message, line and all."""
    shapes = {"x": {0: monograph.Dim.DYNAMIC(min=9), 1: monograph.Dim.AUTO}}
    program = monograph.export(Nine(), (torch.ones(10, 4),), dynamic_shapes=shapes)
    again = loaded(saved(program))
    bad = [
        *(torch.ones(3, 4), torch.ones(10, 4, dtype=torch.int64), torch.ones(10), "text"),
        *(torch.ones(8, 1), torch.ones(10, 4).to_sparse()),
    ]
    for value in bad:
        messages = []
        for each in (program, again):
            with pytest.raises(ContractError) as caught:
                each.module()(value)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    assert str(again.explain("x.shape[0]")) == str(program.explain("x.shape[0]"))


SCRIPT = """
import hashlib, io, torch, monograph
from tests.archive.test_files import every
file = io.BytesIO()
monograph.save(every(), file, verify=False)
print(hashlib.sha256(file.getvalue()).hexdigest())
"""


def test_the_same_program_gives_the_same_bytes(tmp_path):
    """In another process, with another hash seed, under another name."""
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    file = io.BytesIO()
    monograph.save(every(), file, verify=False)
    assert told.stdout.strip() == hashlib.sha256(file.getvalue()).hexdigest()


def test_threads_load_at_once(tmp_path):
    """Thirty-two threads load and run one file."""
    path = tmp_path / "program.pt2"
    monograph.save(every(), path)
    expected = every().module()(torch.ones(2, 3))[0]
    failures = []

    def work():
        try:
            result = monograph.load(path).module()(torch.ones(2, 3))[0]
            assert torch.equal(result, expected)
        except BaseException as error:  # noqa: BLE001  told to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    """An error in the middle of writing changes nothing and leaves nothing behind."""
    path = tmp_path / "program.pt2"
    monograph.save(every(), path)
    before = path.read_bytes()
    other = monograph.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        monograph.save(other, path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["program.pt2"]


def test_a_file_that_is_wrong_is_not_kept(tmp_path, monkeypatch):
    """If the program read back answers otherwise, the old file stays."""
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "program.pt2"
    program = monograph.export(torch.nn.Linear(3, 2), (torch.ones(200, 3),))
    read = saving.load

    def worse(*args, **kwargs):
        found = read(*args, **kwargs)
        with torch.no_grad():
            found.state_dict["weight"].add_(1)
        return found

    monkeypatch.setattr("monograph.archive.saving.load", worse)
    with pytest.raises(BugError) as caught:
        monograph.save(program, path)
    assert caught.value.diagnostic.name == "wrong-after-saving"
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    monograph.save(program, path)


def test_large_examples_are_not_written(tmp_path, monkeypatch):
    """The program read back is run on them all the same, beside the one that is saved."""
    monkeypatch.setattr("monograph.archive.saving.MOST_EXAMPLES", 1000)
    program = monograph.export(torch.nn.ReLU(), (torch.ones(1000),))
    monograph.save(program, tmp_path / "large.pt2")
    assert monograph.load(tmp_path / "large.pt2").example_inputs is None
    test_a_file_that_is_wrong_is_not_kept(tmp_path / "large", monkeypatch)


def test_saving_leaves_the_program_as_it_was():
    """The replay before the file is kept writes to no buffer and draws no random number."""

    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(2))

        def forward(self, x):
            self.n.add_(1)
            return x + self.n + torch.rand(2)

    program = monograph.export(Counts(), (torch.ones(2),))
    state = torch.random.get_rng_state()
    monograph.save(program, io.BytesIO())
    assert torch.equal(program.state_dict["n"], torch.zeros(2))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_lowered_programs_come_back():
    """Dialect, exceptions and mutations of a program without in-place operators."""
    program = monograph.export(torch.nn.BatchNorm1d(3), (torch.randn(4, 3),)).run_decompositions()
    again = loaded(saved(program))
    assert str(again) == str(program)
    assert (again.dialect, again.exceptions) == (program.dialect, program.exceptions)
    x = torch.randn(4, 3)
    left, right = program.module(), again.module()
    assert torch.equal(left(x), right(x))
    assert torch.equal(left.running_mean, right.running_mean)
    loaded_there(saved(program))


class FixesItsNumber(torch.nn.Module):
    """Compares an integer that may vary, so that it may not."""

    def forward(self, x, n):
        """Take one of two ways."""
        x = x + 1 if n == 4 else x - 1
        return torch.arange(x.shape[0]) + x * n


@pytest.mark.filterwarnings("ignore")
def test_a_number_that_a_guard_fixes_is_still_an_input():
    """It has a value in the graph, and a condition in the contract."""
    model, shapes = FixesItsNumber(), ({0: monograph.Dim.AUTO}, monograph.Dim.AUTO)
    program = monograph.export(
        model, (torch.ones(3), 4), dynamic_shapes=shapes, control_flow="refuse"
    )
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    again = monograph.load(file).module()
    assert torch.equal(again(torch.ones(5), 4), model(torch.ones(5), 4))
    with pytest.raises(ContractError, match="n == 4"):
        again(torch.ones(5), 5)
