"""Programs run through torch.compile and AOTInductor, contract first."""

import shutil

import pytest
import torch
from torch._dynamo.testing import CompileCounter

import monograph
from monograph import ArchiveError, BugError, ContractError
from tests.archive.peers import quietly
from tests.interop.programs import counts, net

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def anew():
    """Forget what was compiled before and after."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("way", ["module", "compile", "fullgraph"])
def test_compiled_programs_answer_and_refuse(way):
    """The backend gets graphs; state is written; what the contract refuses is refused."""
    module, program = counts()
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    if way == "module":
        run = torch.compile(program.module(), backend=backend)
    else:
        run = program.compile(backend=backend, fullgraph=way == "fullgraph")
    reference, original = counts()[0], dict(module.named_buffers())["seen"].clone()
    with torch.no_grad():
        reference.seen.copy_(original)
    given = {"a": torch.ones(8)}
    with quietly():
        for rows in (7, 4, 9):
            x = torch.randn(rows, 4)
            expected, found = reference(x, given), run(x, given)
            torch.testing.assert_close(found["y"], expected["y"])
            torch.testing.assert_close(found["seen"], expected["seen"])
        with pytest.raises(ContractError):
            run(torch.randn(3, 4), given)
    assert graphs
    targets = {node.target for graph in graphs for node in graph.graph.nodes}
    assert torch.ops.aten.linear.default in targets


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("branches", [False, True])
def test_compiled_once_for_all_sizes(fullgraph, branches):
    """One graph, no break, whatever sizes come; 0 and 1 are compiled for, as ever with Dynamo."""

    class Model(torch.nn.Module):
        def forward(self, x, by):
            if branches and x.sum() > 0:
                return torch.cat([x, x.sin()]) * by
            return torch.cat([x, x.cos()]) * by

    module, n = Model(), monograph.Dim("n")
    program = monograph.export(module, (torch.ones(4, 3), 2.0), dynamic_shapes=({0: n}, None))
    counter = CompileCounter()
    run = program.compile(backend=counter, fullgraph=fullgraph)
    for rows in (4, 7, 2, 31, 9):
        for x in (torch.rand(rows, 3), -torch.rand(rows, 3)):
            torch.testing.assert_close(run(x, 2.0), module(x, 2.0))
            assert not vars(x)
    assert counter.frame_count == 1
    torch.testing.assert_close(run(torch.ones(1, 3), 2.0), module(torch.ones(1, 3), 2.0))
    assert not torch._dynamo.utils.counters["graph_break"]


class Number(torch.nn.Module):
    """A number out of the data."""

    def forward(self, x, y):
        n = x.item()
        torch._check(n > 0)
        return torch.cat([y * n, torch.ones(n)])


class Sizes(torch.nn.Module):
    """Sizes out of the data."""

    def forward(self, x, y):
        return x.nonzero(), y[y > 1] * 2, torch.unique(y).shape[0]


class Rows(torch.nn.Module):
    """As many rounds as data says."""

    def forward(self, x, y):
        for _ in range(int(x)):
            y = (y * 1.5).sin()
        return y


@pytest.mark.parametrize("module", [Number(), Sizes(), Rows()], ids=["number", "sizes", "rows"])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_what_data_decides_breaks_no_graph(module, fullgraph):
    """Numbers and sizes out of data stay in the one graph; Dynamo's settings are as they were."""
    settings = torch._dynamo.config.shallow_copy_dict()
    program = monograph.export(module, (torch.tensor(5), torch.arange(5.0)))
    counter = CompileCounter()
    run = program.compile(backend=counter, fullgraph=fullgraph)
    for n in (5, 2, 7):
        x, y = torch.tensor(n), torch.rand(5) * n
        torch.testing.assert_close(run(x, y), module(x, y))
    assert counter.frame_count == 1
    assert not torch._dynamo.utils.counters["graph_break"]
    assert torch._dynamo.config.shallow_copy_dict() == settings


has_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


@has_compiler
def test_a_package_is_the_program(tmp_path):
    """Machine code in one file answers at other sizes, keeps state, and checks the contract."""
    module, program = counts()
    path = tmp_path / "counts.pt2"
    with quietly():
        assert program.package(path) == path
        again = monograph.load_package(path)
    assert [each.name for each in tmp_path.iterdir()] == ["counts.pt2"]
    given = {"a": torch.ones(8)}
    for rows in (6, 4, 32):
        x = torch.randn(rows, 4)
        expected, found = module(x, given), again(x, given)
        torch.testing.assert_close(found["y"], expected["y"])
        torch.testing.assert_close(found["seen"], expected["seen"])
    for wrong in (torch.randn(3, 4), torch.randn(65, 4), torch.randn(5, 4).double()):
        with pytest.raises(ContractError):
            again(wrong, given)
    assert str(again.program.contract) == str(program.contract)
    x = torch.randn(5, 4)
    torch.testing.assert_close(again(given=given, x=x)["y"], module(x, given)["y"])
    with pytest.raises(ContractError):
        again(x, given, more=1)


@has_compiler
@pytest.mark.slow
def test_a_package_that_answers_otherwise_is_not_kept(tmp_path):
    """AOTInductor of torch 2.13 forgets to update buffers of one element: seen in a second call."""

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return x + self.n

    program = monograph.export(Counter(), (torch.zeros(3),))
    with pytest.raises(BugError) as refused, quietly():
        program.package(tmp_path / "counter.pt2")
    assert refused.value.diagnostic.name == "wrong-after-handing-over"
    assert "when it is called again" in refused.value.diagnostic.headline
    assert not list(tmp_path.iterdir())


def test_other_files_are_no_packages(tmp_path):
    """A saved program is no machine code."""
    _, program = net()
    monograph.save(program, tmp_path / "net.pt2", verify=False)
    with pytest.raises(ArchiveError):
        monograph.load_package(tmp_path / "net.pt2")
