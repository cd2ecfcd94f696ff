"""Programs become ONNX models with dynamic axes, which onnxruntime and OpenVINO run."""

import importlib.util
import logging

import pytest
import torch

import monograph
from monograph import BugError, HandOverError
from monograph.interop import extras
from tests.archive.peers import quietly
from tests.interop.programs import attention, counts, net

pytestmark = pytest.mark.filterwarnings("ignore")


def needs(*packages):
    """Skip where a package is not installed."""
    missing = [each for each in packages if importlib.util.find_spec(each) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed")


INPUTS = {
    attention: lambda: torch.randint(0, 16, (3, 7)),
    net: lambda: torch.randn(7, 3, 6, 6),
}


@needs("onnx", "onnxscript", "onnxruntime")
@pytest.mark.parametrize("make", list(INPUTS))
def test_onnx_models_answer_at_other_sizes(make, tmp_path):
    """The file opens in onnxruntime, its axes are named as the sizes, and it answers alike."""
    import onnxruntime  # noqa: PLC0415

    module, program = make()
    path = tmp_path / "model.onnx"
    with quietly():
        program.to_onnx(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    assert isinstance(given.shape[0], str)
    x = INPUTS[make]()
    (found,) = session.run(None, {given.name: x.numpy()})
    torch.testing.assert_close(torch.from_numpy(found), module(x), rtol=1e-4, atol=1e-5)


def test_state_has_no_form_in_onnx(tmp_path):
    """A buffer that a call writes to is named."""
    _, program = counts()
    with pytest.raises(HandOverError) as refused:
        program.to_onnx(tmp_path / "counts.onnx")
    assert "`seen`" in refused.value.diagnostic.headline
    assert not list(tmp_path.iterdir())


@needs("onnx", "onnxscript", "onnxruntime")
def test_what_onnx_does_not_check_is_logged(caplog):
    """Ranges, relations, and what user code asked."""

    class Asks(torch.nn.Module):
        def forward(self, x, y):
            if x.shape[0] > 3 and not x.requires_grad:
                return x + y
            return x - y

    rows = monograph.Dim("rows", min=4, max=64)
    shapes = {"x": {0: rows, 1: monograph.Dim.AUTO}, "y": {0: rows, 1: monograph.Dim.AUTO}}
    example = (torch.ones(5, 4), torch.ones(5, 4))
    program = monograph.export(Asks(), example, dynamic_shapes=shapes)
    caplog.set_level(logging.WARNING, "monograph.interop")
    program.to_onnx()
    assert "an ONNX model does not check: rows 4 … 64" in caplog.text
    assert "x.requires_grad is False" in caplog.text


@needs("onnx", "onnxscript", "onnxruntime")
def test_a_model_that_answers_otherwise_is_not_written(tmp_path, monkeypatch):
    """What the translator gets wrong is refused before there is a file."""
    _, program = net()
    translate = torch.onnx.export

    def worse(theirs, **options):
        return (
            translate(theirs.run_decompositions(), **options)
            if False
            else Lies(translate(theirs, **options))
        )

    class Lies:
        def __init__(self, model):
            self.model = model

        def __call__(self, *args, **kwargs):
            return [each + 1 for each in self.model(*args, **kwargs)]

    monkeypatch.setattr(torch.onnx, "export", worse)
    with pytest.raises(BugError) as refused, quietly():
        program.to_onnx(tmp_path / "net.onnx")
    assert refused.value.diagnostic.name == "wrong-after-handing-over"
    assert not list(tmp_path.iterdir())


def test_what_is_not_installed_is_named(monkeypatch):
    """The message has the command."""
    _, program = net()
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(HandOverError) as refused:
        program.to_onnx()
    assert "pip install 'monograph[onnx]'" in str(refused.value)


@needs("openvino")
@pytest.mark.parametrize("make", list(INPUTS))
def test_openvino_takes_the_program(make):
    """`openvino.convert_model` takes the program of torch.export, and answers at other sizes."""
    import openvino  # noqa: PLC0415

    module, program = make()
    x = INPUTS[make]()
    with quietly():
        model = openvino.convert_model(program.to_torch())
        run = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        found = torch.from_numpy(run(x.numpy())[0].copy())
    torch.testing.assert_close(found, module(x), rtol=1e-4, atol=1e-5)


@needs("torchao")
def test_torchao_quantises_the_graph():
    """PT2E inserts its observers into our graph; what it makes is exported here again."""
    import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86  # noqa: PLC0415
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: PLC0415

    module, program = net()
    with quietly():
        quantizer = x86.X86InductorQuantizer()
        quantizer.set_global(x86.get_default_x86_inductor_quantization_config())
        prepared = prepare_pt2e(program.to_torch().module(), quantizer)
        for _ in range(4):
            prepared(torch.randn(4, 3, 6, 6))
        quantised = convert_pt2e(prepared)
        x = torch.randn(5, 3, 6, 6)
        found = quantised(x)
    names = {str(node.target) for node in quantised.graph.nodes}
    assert any("quantize_per_tensor" in name for name in names)
    assert (found - module(x)).abs().max() < 0.1
    assert not torch.equal(found, module(x))
    shapes = {"image": {0: monograph.Dim("batch", min=2, max=64)}}
    with quietly():
        again = monograph.export(quantised, (torch.randn(4, 3, 6, 6),), dynamic_shapes=shapes)
    torch.testing.assert_close(again.module()(x), found)


@needs("executorch")
def test_executorch_takes_the_program():
    """Its runtime runs what its compiler makes of the program of torch.export."""
    from executorch.exir import to_edge_transform_and_lower  # noqa: PLC0415
    from executorch.runtime import Runtime  # noqa: PLC0415

    module, program = net()
    with quietly():
        built = to_edge_transform_and_lower(program.to_torch()).to_executorch()
        method = Runtime.get().load_program(built.buffer).load_method("forward")
        x = torch.randn(7, 3, 6, 6)
        (found,) = method.execute([x])
    torch.testing.assert_close(found, module(x), rtol=1e-4, atol=1e-5)
