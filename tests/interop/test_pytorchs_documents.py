"""What PyTorch's own documents show of torch.export, feature by feature, and who holds it here.

Five documents: the error guide (000), the guide (001), the page on debugging (002), the one on
Dynamo (003) and the tutorial (004). Each row is one of their features with a verdict: `works` as
there, `better` (more programs, checks or text), `differs` (argued in docs/migrating.md). A row is
held by a function here, or by the test that is named.
"""

import inspect
import io
import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.fx.experimental.symbolic_shapes import guard_or_false, statically_known_true

import monograph
from monograph import ContractError, Dim, export
from monograph.graph_signature import InputKind

HERE = Path(__file__).parents[1]
ROWS: list[tuple[str, str, str, object]] = []
DIFFERS = {
    "a draft's report": "a line for each problem",
    "a partial dict of dynamic_shapes": "arguments that are left out are static",
    "branches on data": "captured, as `torch.cond`",
    "compile options of Dynamo": "Dynamo is not asked",
    "id(x) without strict": "refused in both modes",
    "id(x), non-strict": "refused in both modes",
    "move_to_device_pass": "`passes.move_to_device_pass(ep, location)`",
    "names of derived sizes": "entries for `2*n`",
    "operators after a custom operator": "`_assert_tensor_metadata`",
    "print": "printed by the export",
    "relations solved the other way": "solved for either size",
    "sparse, quantised and nested inputs": "refused as inputs",
    "symbols": "under the declared name",
    "the default of strict": "`strict` is True",
    "the frames of an operator": "all frames of the call",
    "a program given to AOTInductor": "`ep.package(file)`",
    "writes to attributes": "`attribute-changed`",
}
"""Rows that differ, and words of the page that argues them."""


def row(document: str, feature: str, verdict: str, held_by: str = ""):
    """Enter a row that a function here holds, or the test that is named."""

    def enter(function):
        ROWS.append((document, feature, verdict, function))
        return function

    if held_by:
        ROWS.append((document, feature, verdict, held_by))
    return enter


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 3, 1), nn.BatchNorm2d(3)

    def forward(self, x):
        return (self.norm(self.conv(x)),)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Linear(4, 4)

    def forward(self, x, *, c=None):
        y = self.sub(x).relu()
        return y if c is None else y.add_(c)


class Sized(nn.Module):
    def forward(self, w, x, y, z):
        assert w.shape[0] == x.shape[0] + 2
        return w[:, 0] * 2, y @ z.reshape(y.shape[1], -1)


def x4(rows=3):
    """Give rows of four numbers."""
    return torch.randn(rows, 4)


def program(module=None, given=None, **options):
    """Export something small."""
    return export(module or Small(), given or (x4(),), **options)


def targets(made):
    """Name the operators of a program."""
    return [str(n.target) for n in made.graph.nodes if n.op == "call_function"]


# ------------------------------------------------------------------------------------ 001, guide
@row("001", "printout of export", "works")
def _printed():
    text = str(program())
    assert "class GraphModule" in text
    assert "Graph signature" in text
    assert "p_sub_weight: PARAMETER target='sub.weight'" in text


@row("001", "calls by position, keyword, order", "better")
def _calls():
    run = program(given=(x4(),), kwargs={"c": x4()}).module()
    x, c = x4(), x4()
    assert torch.equal(run(c=c, x=x), run(x, c=c))
    for given, named in (((), {}), ((x, c, c), {}), ((x,), {"d": c})):
        with pytest.raises((ContractError, TypeError)):
            run(*given, **named)


@row("001", "one flat graph", "works")
def _flat():
    assert not [n for n in program().graph.nodes if n.op == "call_module"]


@row("001", "functional after run_decompositions", "works")
def _functional():
    for table in ({}, None):
        lowered = program(Net(), (torch.randn(2, 1, 3, 3),)).run_decompositions(table)
        for node in lowered.graph.nodes:
            assert node.op != "call_function" or not getattr(
                getattr(node.target, "_schema", None), "is_mutable", False
            )


@row("001", "the frames of an operator", "differs")
def _frames():
    for node in program().graph.nodes:
        if node.op == "call_function":
            assert 'File "' in node.meta["stack_trace"]


@row("001", "the line of an assertion", "better")
def _lines_of_assertions():
    class Checked(nn.Module):
        def forward(self, x, y):
            a = x.item()
            torch._check(a >= 10)
            return y + a

    made = export(Checked(), (torch.tensor(32), x4()))
    (node,) = [n for n in made.graph.nodes if "_assert_scalar" in n.name]
    assert node.meta["stack_trace"].strip().endswith("torch._check(a >= 10)")


@row("001", "nn_module_stack", "works")
def _module_stack():
    node = next(n for n in program().graph.nodes if n.name == "linear")
    assert node.meta["nn_module_stack"]["L__self__sub"][0] == "sub"


@row("001", "torch_fn", "works")
def _torch_fn():
    node = next(n for n in program().graph.nodes if n.name == "linear")
    assert node.meta["torch_fn"][1] == "builtin_function_or_method.linear"


@row("001", "no ScriptModule", "works")
def _no_script():
    with pytest.raises(monograph.UnsupportedError) as found:
        export(torch.jit.script(nn.Linear(2, 2)), (torch.ones(1, 2),))
    assert found.value.diagnostic.name == "scripted-module"


@row("001", "a module of symbolic_trace", "works")
def _traced():
    module = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    assert len(targets(export(module, (x4(),)))) == 2


row("001", "Python of all kinds", "works", "programs/test_programs.py::test_static")


@row("001", "conditions of computed sizes", "better")
def _computed_sizes():
    class Halved(nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0], 2, x.shape[1] // 2)

    made = export(Halved(), (x4(),), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}})
    assert made.module()(torch.ones(1, 2)).shape == (1, 2, 1)


@row("001", "graph and signature", "works")
def _signature():
    made = program()
    kinds = [spec.kind for spec in made.graph_signature.input_specs]
    assert kinds == [InputKind.PARAMETER, InputKind.PARAMETER, InputKind.USER_INPUT]
    assert made.graph_signature.parameters == ("sub.weight", "sub.bias")


@row("001", "parameters are lifted", "works")
def _lifted():
    made = program()
    assert not [n for n in made.graph.nodes if n.op == "get_attr"]
    assert made.graph.find_nodes(op="placeholder")[0].meta["val"].shape == (4, 4)


@row("001", "a static program refuses other sizes", "better")
def _static():
    with pytest.raises(ContractError, match=r"expected 3, got 5"):
        program().module()(x4(5))


@row("001", "Dim by name", "better")
def _named():
    made = program(dynamic_shapes={"x": {0: Dim("batch")}})
    assert str(made.range_constraints) == "{batch: VR[0, int_oo]}"
    for rows in (0, 1, 2, 33):
        assert made.module()(x4(rows)).shape == (rows, 4)


@row("001", "symbols", "differs")
def _symbols():
    made = program(dynamic_shapes={"x": {0: Dim("batch", max=9)}})
    ((symbol, within),) = made.range_constraints.items()
    assert (str(symbol), within.lower, within.upper) == ("batch", 0, 9)


@row("001", "one name, one symbol", "works")
def _one_name():
    class Added(nn.Module):
        def forward(self, x, y):
            return x + y

    made = export(
        Added(), (x4(), x4()), dynamic_shapes={"x": {0: Dim("n")}, "y": {0: torch.export.Dim("n")}}
    )
    assert len(made.range_constraints) == 1


@row("001", "names of derived sizes", "differs")
def _derived():
    class Doubled(nn.Module):
        def forward(self, x, y):
            return torch.cat([x, x]) + y

    n = Dim("n", min=4, max=256)
    made = export(Doubled(), (x4(5), x4(10)), dynamic_shapes={"x": {0: n}, "y": {0: 2 * n}})
    shown = {str(key): str(value) for key, value in made.range_constraints.items()}
    assert shown == {"n": "VR[4, 256]", "2*n": "VR[8, 512]"}


row("001", "constraint violations", "better", "sizes/test_programs.py::test_refused")


@row("001", "DYNAMIC infers", "works")
def _dynamic():
    made = program(dynamic_shapes={"x": {0: Dim.DYNAMIC}})
    assert made.module()(x4(7)).shape == (7, 4)


@row("001", "DYNAMIC with a range is narrowed", "works")
def _dynamic_range():
    class Few(nn.Module):
        def forward(self, x):
            assert x.shape[0] <= 8
            return x + 1

    made = export(Few(), (x4(),), dynamic_shapes={"x": {0: Dim.DYNAMIC(min=2, max=100)}})
    assert list(map(str, made.range_constraints.values())) == ["VR[2, 8]"]


@row("001", "relations are in the program", "better")
def _relations():
    class Added(nn.Module):
        def forward(self, x, y):
            return x + y

    made = export(Added(), (x4(), x4()), dynamic_shapes={"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}})
    with pytest.raises(ContractError):
        made.module()(x4(2), x4(3))


row("001", "AUTO tells what became constant", "better", "unit/test_logs.py::test_every_line")


@row("001", "ShapesCollection", "works")
def _shapes_collection():
    x = x4()
    shapes = monograph.ShapesCollection()
    shapes[x] = {0: Dim("n")}
    made = export(Small(), (x,), dynamic_shapes=shapes)
    assert made.module()(x4(8)).shape == (8, 4)


@row("001", "a partial dict of dynamic_shapes", "differs")
def _partial_dict():
    made = program(kwargs={"c": x4()}, dynamic_shapes={"x": None})
    assert not made.range_constraints
    with pytest.raises(monograph.SpecError):
        program(dynamic_shapes={"y": None})


@row("001", "AdditionalInputs", "works")
def _additional_inputs():
    more = monograph.AdditionalInputs()
    more.add((x4(5),))
    made = export(Small(), (x4(),), dynamic_shapes=more)
    assert made.module()(x4(7)).shape == (7, 4)


row("001", "save and load", "works", "archive/test_matrix.py::written_here")


@row("001", "names of arguments", "works")
def _argument_names():
    made = export(mod=Small(), args=(x4(),))
    file = io.BytesIO()
    monograph.save(ep=made, f=file)
    assert monograph.load(f=file).module()(x4()).shape == (3, 4)
    monograph.unflatten(module=made)


@row("001", "training IR of convolution and normalisation", "works")
def _training_ir():
    made = program(Net(), (torch.randn(2, 1, 3, 3),))
    assert {"aten.conv2d.default", "aten.batch_norm.default"} <= set(targets(made))


@row("001", "is_mutable of operators", "works")
def _mutable():
    assert torch.ops.aten.add_.Tensor._schema.is_mutable
    made = program(kwargs={"c": x4()})
    assert any(n.target is torch.ops.aten.add_.Tensor for n in made.graph.nodes)


@row("001", "training IR trains", "works")
def _trains():
    run = program().module()
    run(x4()).sum().backward()
    assert all(p.grad is not None for p in run.parameters())


@row("001", "run_decompositions", "works")
def _decomposed():
    made = program(Net(), (torch.randn(2, 1, 3, 3),)).run_decompositions()
    assert "aten.convolution.default" in targets(made)
    assert "aten._native_batch_norm_legit_functional.default" in targets(made)


@row("001", "a table of one's own", "works")
def _own_table():
    table = monograph.default_decompositions()

    def twice(x, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
        return 2 * torch.ops.aten.convolution(
            x, weight, bias, stride, padding, dilation, False, [0, 0], groups
        )

    table[torch.ops.aten.conv2d.default] = twice
    made = program(Net(), (torch.randn(2, 1, 3, 3),)).run_decompositions(table)
    assert targets(made)[:2] == ["aten.convolution.default", "aten.mul.Tensor"]


@row("001", "default_decompositions", "works")
def _table_methods():
    table = monograph.default_decompositions()
    linear = torch.ops.aten.linear.default
    formula = table.pop(linear)
    assert linear not in table
    table.update({linear: formula})
    del table[linear]
    assert linear not in table.copy().materialize()


row(
    "001",
    "draft_export goes on",
    "better",
    "problems/test_drafts.py::test_a_draft",
)


@row("001", "a draft's report", "differs")
def _draft_report():
    class Drawn(nn.Module):
        def forward(self, x):
            return x + random.random()

    made = monograph.draft_export(Drawn(), (x4(),))
    assert "outside-read" in str(made.report)
    assert "assumed" in str(made.report)


row("001", "ExportDB", "works", "exportdb/test_cases.py::test_what_torch_has_is_here")


@row("001", "id(x) without strict", "differs")
def _identity():
    class Identity(nn.Module):
        def forward(self, x):
            return x + id(x)

    for strict in (True, False):
        with pytest.raises(monograph.UnsupportedError):
            export(Identity(), (x4(),), strict=strict)


row("001", "a branch on a size", "works", "sizes/test_programs.py::test_refused")
row("001", "torch.cond", "better", "control_flow/test_programs.py::test_agrees")
row(
    "001",
    "an operator without a fake kernel",
    "better",
    "custom/test_programs.py::test_mistakes_have",
)


@row("001", "move_to_device_pass", "differs")
def _moves():
    made = monograph.passes.move_to_device_pass(program(), "meta")
    assert made.state_dict["sub.weight"].device.type == "meta"


# --------------------------------------------------------------------------------- 004, tutorial
@row("004", "the first export", "works")
def _first():
    assert isinstance(program(), monograph.ExportedProgram)
    assert program().module()(x4()).shape == (3, 4)


row("004", "signature of export", "works", "repo/test_torch_surface.py::test_a_name_has")


@row("004", "attributes of the program", "works")
def _attributes():
    made = program()
    for name in ("graph", "graph_signature", "state_dict", "range_constraints", "constants"):
        assert getattr(made, name) is not None


@row("004", "branches on data", "differs")
def _branches():
    class Bad(nn.Module):
        def forward(self, x):
            return x.sin() if x.sum() > 0 else x.cos()

    assert "cond" in targets(export(Bad(), (x4(),)))
    with pytest.raises(monograph.DataDependentError, match=r"torch\.where|torch\.cond"):
        export(Bad(), (x4(),), control_flow="refuse")


@row("004", "the text of a refusal", "better")
def _texts():
    class Bad(nn.Module):
        def forward(self, x):
            return x.sin() if x.sum() > 0 else x.cos()

    with pytest.raises(monograph.DataDependentError) as found:
        export(Bad(), (x4(),), control_flow="refuse")
    assert "monograph.explain(" in str(found.value)
    assert found.value.msg == str(found.value) == found.value.args[0]


@row("004", "a write through .data", "better")
def _written():
    class Written(nn.Module):
        def forward(self, x):
            x.data[0, 0] = 3
            return x * 1

    x = x4()
    export(Written(), (x4(),)).module()(x)
    assert x[0, 0] == 3


row("004", "id(x), strict", "works", "HERE::identity")
row("004", "id(x), non-strict", "differs", "HERE::identity")
row("004", "cond, printed", "better", "data/documents.py::cond_on_a_sum")
row("004", "limits of cond", "better", "control_flow/test_refusals.py::test_")
row("004", "operands of cond", "better", "control_flow/test_programs.py::test_agrees")
row("004", "a predicate with many elements", "works", "control_flow/test_refusals.py::test_")
row("004", "map", "works", "data/documents.py::map_over_rows")
row("004", "while_loop, scan, associative_scan", "better", "control_flow/loops.py::")


@row("004", "higher_order.cond, called directly", "works")
def _called_directly():
    class Direct(nn.Module):
        def forward(self, x):
            sides = (lambda x: (x.sin(),)), (lambda x: (x.cos(),))
            return torch.ops.higher_order.cond(x.sum() > 0, *sides, (x,))

    for strict in (True, False):
        assert "cond" in targets(export(Direct(), (x4(),), strict=strict))


@row("004", "a static model at another size", "works")
def _static_again():
    with pytest.raises(AssertionError):
        program().module()(x4(5))


@row("004", "AUTO: ranges and relations", "better")
def _automatic():
    auto = {0: Dim.AUTO}
    made = export(
        Sized(),
        (x4(6), torch.randn(4), torch.randn(8, 4), torch.randn(32)),
        dynamic_shapes={"w": auto, "x": auto, "y": {0: Dim.AUTO, 1: Dim.AUTO}, "z": auto},
    )
    run = made.module()
    assert run(x4(4), torch.randn(2), torch.randn(8, 3), torch.randn(24))[1].shape == (8, 8)


row("004", "range of a product", "works", "HERE::derived")
row("004", "TORCH_LOGS='+dynamic'", "works", "unit/test_logs.py::test_the_environment")
row("004", "set_logs(dynamic=10)", "works", "unit/test_logs.py::test_every_line")
row("004", "the stack of one guard", "works", "unit/test_logs.py::test_the_stack_of_one_guard")
row("004", "the stack of one symbol", "works", "unit/test_logs.py::test_the_stack_of_one_symbol")
row("004", "DYNAMIC that becomes constant", "better", "sizes/test_programs.py::test_refused")


@row("004", "relations solved the other way", "differs")
def _relations_of_assertions():
    auto = {0: Dim.AUTO}
    made = export(
        Sized(),
        (x4(6), torch.randn(4), torch.randn(8, 4), torch.randn(32)),
        dynamic_shapes={"w": auto, "x": auto, "y": auto, "z": auto},
    )
    run = made.module()
    run(x4(9), torch.randn(7), torch.randn(8, 4), torch.randn(32))
    with pytest.raises(ContractError):
        run(x4(9), torch.randn(8), torch.randn(8, 4), torch.randn(32))


@row("004", "an example of 1", "better")
def _example_of_one():
    made = export(nn.Linear(4, 2), (x4(1),), dynamic_shapes=({0: Dim.AUTO},))
    for rows in (0, 1, 2, 5):
        assert made.module()(x4(rows)).shape == (rows, 2)


row("004", "A*dim + B", "works", "sizes/test_programs.py::test_")


@row("004", "suggested fixes", "better")
def _suggested_fixes():
    class Added(nn.Module):
        def forward(self, x, y):
            return x + y

    shapes = {"x": {0: Dim("dx")}, "y": {0: Dim("dy")}}
    with pytest.raises(monograph.ConstraintViolation) as found:
        export(Added(), (x4(), x4()), dynamic_shapes=shapes)
    refine = monograph.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes
    fixed = refine(str(found.value), shapes)
    for each in (fixed, found.value.suggested_dynamic_shapes):
        assert export(Added(), (x4(), x4()), dynamic_shapes=each).module()(x4(2), x4(2)).shape


@row("004", "None, ints and others in a declaration", "works")
def _in_declarations():
    class Scaled(nn.Module):
        def forward(self, x, n, flag):
            return x * n if flag else x

    for each in (None, 3, {0: None}, {0: Dim.STATIC}):
        export(
            Scaled(), (x4(), 2, True), dynamic_shapes=({0: each} if each == 3 else each, None, None)
        )


row("004", "item and tolist", "works", "data/documents.py::values_returned")
row("004", "a condition on data", "better", "data/documents.py::branch_without_a_check")
row("004", "torch._check", "works", "data/documents.py::branch_after_a_check")
row("004", "an index out of data", "works", "data/documents.py::index_with_checks")
row("004", "range(a), non-strict", "works", "data/documents.py::list_comprehension")
row("004", "range(a), strict", "works", "data/documents.py::list_comprehension_checked")
row("004", "its rewrite", "better", "data/documents.py::repeated")


@row("004", "guard_or_false and relatives", "works")
def _toolkit():
    class Asked(nn.Module):
        def forward(self, x):
            if guard_or_false(x.shape[0] == 5) or statically_known_true(x.shape[1] == 3):
                return x
            return x + int(torch.compiler.is_exporting())

    made = export(Asked(), (x4(),), dynamic_shapes=({0: Dim("n")},))
    assert made.module()(x4(7)).shape == (7, 4)


@row("004", "operators after a custom operator", "differs")
def _custom_operator():
    @torch.library.custom_op("documents::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_fake(torch.empty_like)

    class Uses(nn.Module):
        def forward(self, x):
            return double(x) + 1

    made = targets(export(Uses(), (x4(),)))
    assert made[0] == "documents.double.default"
    assert made[1] == "aten._assert_tensor_metadata.default"


row("004", "decompositions", "works", "HERE::decomposed")
row("004", "cases of ExportDB", "works", "exportdb/test_cases.py::test_what_torch_has_is_here")
row("004", "running the program", "works", "HERE::first")
row("004", "torch.compile of it", "works", "interop/test_tools_of_torch.py::test_sizes_do_not")


@row("004", "export of it", "works")
def _again():
    class Checked(nn.Module):
        def forward(self, x, y):
            n = x.item()
            torch._check(n >= 0)
            return torch.cond(y.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,)) * n

    for strict in (True, False):
        given = (torch.tensor(3), x4())
        made = export(Checked(), given, strict=strict)
        once_more = export(made.module(), given, strict=strict)
        assert targets(once_more) == targets(made)


@row("004", "a refused export leaves a module alone", "works")
def _left_alone():
    run = program().module()
    with pytest.raises(monograph.SpecError):
        export(run, (x4(),), dynamic_shapes={"q": None})
    assert torch.fx.symbolic_trace(run)(x4()).shape == run(x4()).shape == (3, 4)


row("004", "a program given to AOTInductor", "differs", "interop/test_foreign_callers.py::")
# ------------------------------------------------------------------------------------ 000, errors
row("000", "unsupported features name their example", "works", "exportdb/test_error_cases.py::")
row("000", "constraint violations", "works", "sizes/test_programs.py::test_refused")


@row("000", "equal sizes that need not be equal", "works")
def _spurious():
    class Apart(nn.Module):
        def forward(self, x, y):
            return x + 1, y + 1

    made = export(Apart(), (x4(), x4()), dynamic_shapes=({0: Dim("a")}, {0: Dim("b")}))
    assert made.module()(x4(2), x4(5))[1].shape == (5, 4)


row("000", "sizes 0 and 1", "better", "HERE::example_of_one")
row("000", "the compiler as a guide", "works", "HERE::suggested_fixes")
row("000", "levels of the log", "works", "unit/test_logs.py::test_levels")


@row("000", "sparse, quantised and nested inputs", "differs")
def _sparse():
    with pytest.raises(monograph.UnsupportedError, match="sparse"):
        program(nn.Identity(), (x4().to_sparse(),))


row(
    "000",
    "instructions for custom operators",
    "better",
    "custom/test_programs.py::test_mistakes_have",
)
row("000", "the program beside the module", "better", "verification/test_verify.py::test_")
row("000", "a round trip of the file", "better", "archive/test_round_trip.py::test_")
# --------------------------------------------------------------------------------- 002, debugging
row("002", "four causes of refusals", "works", "messages/")
row("002", "batch and sequence", "works", "HERE::named")
row(
    "002",
    "the text has suggestions",
    "works",
    "HERE::suggested_fixes",
)


@row("002", "view(32, -1)", "better")
def _view():
    class Viewed(nn.Module):
        def forward(self, x):
            return x.view(32, -1)

    made = export(Viewed(), (torch.randn(64, 10),), dynamic_shapes=({0: Dim.AUTO},))
    for rows in (16, 32):
        assert made.module()(torch.randn(rows, 10)).shape == (32, rows * 10 // 32)


row("002", "sizes in views, branches, slices", "works", "data/documents.py::first_ten_by_clamp")


@row("002", "the default of strict", "differs")
def _strict_is_default():
    assert inspect.signature(export).parameters["strict"].default is True


@row("002", "writes to attributes", "differs")
def _attribute():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x + self.n

    for strict in (True, False):
        with pytest.raises(monograph.SideEffectError) as found:
            export(Counted(), (x4(),), strict=strict)
        assert found.value.diagnostic.name == "attribute-changed"
    assert export(Counted(), (x4(),), side_effects="ignore").module()(x4()).shape == (3, 4)


@row("002", "help for a list attribute", "works")
def _list_attribute():
    class Logged(nn.Module):
        def __init__(self):
            super().__init__()
            self.log = []

        def forward(self, x):
            self.log.append(x.sum())
            return x

    with pytest.raises(monograph.SideEffectError) as found:
        export(Logged(), (x4(),))
    assert 'register_buffer("log"' not in str(found.value)


@row("002", "writes to inputs", "better")
def _writes():
    class Added(nn.Module):
        def forward(self, x):
            return x.add_(1)

    x = torch.zeros(2)
    assert export(Added(), (torch.zeros(2),)).module()(x) is x


row("002", "a branch, cond, where", "better", "data/documents.py::branch_or_unchanged")


@row("002", "print_readable", "works")
def _readable():
    text = program().graph_module.print_readable(
        print_output=False, include_stride=True, include_device=True
    )
    assert '"f32[3, 4][4, 1]cpu"' in text


row("002", "save, load, compare", "works", "archive/test_round_trip.py::test_")
row("002", "compile options of Dynamo", "differs", "repo/test_torch_surface.py::")
row("002", "TORCH_LOGS='+export'", "works", "unit/test_logs.py::test_programs_and_their_operators")


@row("002", "operators before dispatch", "works")
def _before_dispatch():
    class Attends(nn.Module):
        def forward(self, q):
            return nn.functional.layer_norm(
                nn.functional.scaled_dot_product_attention(q, q, q), (4,)
            )

    made = targets(export(Attends(), (torch.randn(1, 2, 3, 4),)))
    assert made == ["aten.scaled_dot_product_attention.default", "aten.layer_norm.default"]


row("002", "an operator of a library fragment", "works", "custom/test_programs.py::test_")


@row("002", "print", "differs")
def _prints():
    class Printed(nn.Module):
        def forward(self, x):
            print("sum", x.sum())  # noqa: T201
            return x

    assert export(Printed(), (x4(),)).module()(x4()).shape == (3, 4)


# ------------------------------------------------------------------------------------ 003, Dynamo
row("003", "one graph or several", "works", "jit/test_programs.py::test_")
row("003", "the reasons of breaks", "works", "jit/test_reports.py::test_")
row("003", "nopython", "works", "jit/test_optimizing.py::test_")
row("003", "guards and their limit", "works", "jit/test_guards.py::test_")
row("003", "the profiler of recompilations", "works", "jit/test_reports.py::test_")
row("003", "each graph and its guards", "works", "jit/test_reports.py::test_")
row("003", "extensions in C", "works", "jit/test_enemies.py::test_")
row("003", "a minimal program for an issue", "works", "jit/test_minifying.py::test_")


# ------------------------------------------------------------------------------------ the count
HELD_HERE = {f"{d} {what}": held for d, what, _, held in ROWS if callable(held)}


@pytest.mark.parametrize("what", HELD_HERE)
@pytest.mark.filterwarnings("ignore")
def test_what_documents_show(what, capsys):
    """The row does as its verdict says."""
    HELD_HERE[what]()
    capsys.readouterr()


def test_the_count():
    """No row is wrong or missing; what differs is argued, and each other test exists."""
    verdicts = Counter(verdict for _, _, verdict, _ in ROWS)
    assert verdicts == {"works": 75, "better": 30, "differs": 17}
    for _, _, _, held in ROWS:
        if isinstance(held, str):
            file, _, name = held.replace("HERE", "interop/test_pytorchs_documents.py").partition(
                "::"
            )
            assert (HERE / file).exists(), held
            assert not name or name in (HERE / file).read_text(), held
    page = " ".join((HERE.parent / "docs" / "migrating.md").read_text().split())
    assert {what for _, what, verdict, _ in ROWS if verdict == "differs"} == DIFFERS.keys()
    assert [words for words in DIFFERS.values() if words not in page] == []
