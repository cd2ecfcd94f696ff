"""Run tools of others, unmodified, on torch.export and on our capture: time of both, equality.

    python -m bench.handover [--tools onnx,aoti,pt2e,...] [--models NAME,...] [--append]

Each tool calls torch.export by itself, or is given what torch.export.export returns; inside of
`monograph.as_torch_export()` that is captured here. What both sides made is called on inputs unlike
the example, of other sizes where the tool takes them, and held against the module. Seconds are of
the whole tool, one run each, torch's first and again after ours; the smaller of torch's two counts.
Models are those of `tests/models`, and `zoo:NAME` out of the folder that MONOGRAPH_ZOO names.
"""

import argparse
import contextlib
import importlib
import io
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

import monograph
from bench.results import Results
from tests.models import harness, hugging_face, own  # noqa: F401  (they register the models)
from tests.models.registry import MODELS
from tests.seeding import reseed

TORCH = harness.exporter_named("torch.export:export")
SIZES = (
    "gpt",
    "resnet",
    "transformer",
    "attention",
    "bert",
    "llama",
    "gpt2",
    "vit",
    "clip",
    "llama_masked",
    "vit_any_size",
    "whisper",
)
"""Models for ONNX, their sizes varying; the other tools take fewer, and fixed sizes."""
FIXED = ("resnet", "attention", "bert", "vit", "gpt2")
TOOLS: dict[str, tuple[tuple[str, ...], Callable]] = {}
CLOSE = 1e-3


@dataclass(frozen=True, slots=True)
class Subject:
    """A module, its example inputs, others of other sizes, and which sizes vary."""

    module: torch.nn.Module
    example: tuple
    calls: list
    shapes: object


def subject(name: str) -> Subject:
    """A model of the tests, or of the zoo."""
    kind, _, rest = name.partition(":")
    if kind == "zoo":
        sys.path.insert(0, os.environ["MONOGRAPH_ZOO"])
        entry = importlib.import_module("zoo").get(rest)
        module = entry.module()
        calls = [entry.first_inputs(), entry.second_inputs()]
        return Subject(module, entry.first_inputs(), calls, entry.dynamic_shapes())
    model = MODELS[name]
    module, inputs = harness.build(model)
    return Subject(
        module.eval(),
        harness.inputs_at(inputs, model.sizes[0], harness.SEED_OF_EXAMPLE),
        [harness.inputs_at(inputs, sizes, harness.SEED_OF_CALL) for sizes in model.sizes],
        harness.dynamic_shapes(model, TORCH, "automatic"),
    )


def tool(*models: str):
    """Register what makes a callable of a model, and the models that it is run on."""

    def register(make):
        TOOLS[make.__name__] = models, make
        return make

    return register


@tool(*SIZES)
def onnx(model: Subject, args, kwargs):
    """torch.onnx.export(module, dynamo=True), run by onnxruntime."""
    return torch.onnx.export(
        model.module,
        args,
        kwargs=kwargs,
        dynamo=True,
        dynamic_shapes=model.shapes,
        verbose=False,
    )


@tool(*FIXED)
def onnx_fixed(model: Subject, args, kwargs):
    """The same, all sizes fixed."""
    return torch.onnx.export(model.module, args, kwargs=kwargs, dynamo=True, verbose=False)


@tool("attention", "resnet", "gpt2")
def aoti(model: Subject, args, kwargs):
    """AOTInductor of what torch.export gives, sizes varying."""
    program = torch.export.export(model.module, args, kwargs, dynamic_shapes=model.shapes)
    path = Path(tempfile.mkdtemp()) / "model.pt2"
    torch._inductor.aoti_compile_and_package(program, package_path=str(path))  # noqa: SLF001
    return torch._inductor.aoti_load_package(str(path))  # noqa: SLF001


@tool("resnet", "attention", "bert")
def pt2e(model: Subject, args, kwargs):
    """Quantisation by torchao: prepare, calibrate, convert."""
    from torchao.quantization.pt2e.quantize_pt2e import (  # noqa: PLC0415
        convert_pt2e,
        prepare_pt2e,
    )
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86  # noqa: PLC0415

    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(model.module, args, kwargs).module(), quantizer)
    prepared(*args, **kwargs)
    return convert_pt2e(prepared)


@tool("resnet", "attention", "bert", "vit", "clip")
def executorch(model: Subject, args, kwargs):
    """ExecuTorch with XNNPACK, run by its runtime."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (  # noqa: PLC0415
        XnnpackPartitioner,
    )
    from executorch.exir import to_edge_transform_and_lower  # noqa: PLC0415

    program = torch.export.export(model.module, args, kwargs)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    return in_runtime(lowered.to_executorch().buffer)


def in_runtime(buffer: bytes):
    """A callable of a program of ExecuTorch."""
    from executorch.runtime import Runtime  # noqa: PLC0415

    program = Runtime.get().load_program(buffer)
    method = program.load_method("forward")

    def call(*args, **kwargs):
        assert program is not None  # its memory, which a method does not keep
        return method.execute([*pytree.tree_leaves((args, kwargs))])

    return call


@tool("llama", "gpt2")
def transformers(model: Subject, args, kwargs):
    """The recipe of transformers for ExecuTorch: a decoder with a static cache."""
    from transformers.integrations.executorch import (  # noqa: PLC0415
        TorchExportableModuleForDecoderOnlyLM,
    )

    del args
    module = model.module
    module.config.use_cache = module.generation_config.use_cache = True
    module.generation_config.cache_implementation = "static"
    exportable = TorchExportableModuleForDecoderOnlyLM(module, batch_size=1, max_cache_len=16)
    program = exportable.export(kwargs["input_ids"][:1, :1])
    return program.module()


def answers(run: Callable, inputs: list) -> list[torch.Tensor]:
    """What it returns on each, as one list."""
    found = []
    for args, kwargs in inputs:
        with torch.no_grad():
            found += pytree.tree_leaves(run(*args, **kwargs))
    return [x.float() if isinstance(x, torch.Tensor) else torch.tensor(float(x)) for x in found]


def difference(one: list, other: list) -> float:
    """The largest difference, relative to the largest value; infinite where shapes differ."""
    if [x.shape for x in one] != [x.shape for x in other]:
        return float("inf")
    scales = [max(float(y.abs().max()), 1.0) if y.numel() else 1.0 for y in other]
    gaps = [
        float((x - y).abs().max()) / scale if x.numel() else 0.0
        for x, y, scale in zip(one, other, scales, strict=True)
    ]
    return max(gaps, default=0.0)


def run(name: str, model: str, *, ours: bool):
    """Make it on one side: seconds, and its answers or what was raised."""
    made_of = subject(model)
    calls = made_of.calls if name in {"onnx", "aoti"} else made_of.calls[:1]
    if name == "transformers":
        step = {"input_ids": calls[0][1]["input_ids"][:1, :1], "cache_position": torch.tensor([0])}
        calls = [((), step)]
    context = monograph.as_torch_export() if ours else contextlib.nullcontext()
    reseed(0)
    start = time.perf_counter()
    try:
        with context, contextlib.redirect_stdout(io.StringIO()):
            made = TOOLS[name][1](made_of, *made_of.example)
        seconds = time.perf_counter() - start
        expected = None if name == "transformers" else answers(made_of.module, calls)
        return seconds, answers(made, calls), expected
    except Exception as error:  # noqa: BLE001  (whatever a tool raises is its result)
        return time.perf_counter() - start, error, None


def row(name: str, model: str) -> tuple[str, ...]:
    """Both sides of one tool on one model."""
    (first, theirs, expected), (ours_s, ours, _) = (run(name, model, ours=x) for x in (False, True))
    again = run(name, model, ours=False)[0] if name != "aoti" else first
    shown = [f"{min(first, again):.2f}", f"{ours_s:.2f}"]
    for each in (theirs, ours):
        if isinstance(each, Exception):
            shown.append(said(each))
        else:
            shown.append("-" if expected is None else f"{difference(each, expected):.1e}")
    if isinstance(theirs, list) and isinstance(ours, list):
        gap = difference(ours, theirs)
        shown.append(f"{gap:.1e}" if gap > 0 else "equal")
    else:
        shown.append("-")
    return (f"{name} {model}", *shown)


def said(error: BaseException) -> str:
    """The cause of an error, in a few words."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:60]}".replace("|", "/")


def main() -> None:
    """Run every tool that was asked for on its models."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", default="onnx")
    parser.add_argument("--models", default="")
    parser.add_argument("--append", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    columns = ("tool, model", "torch s", "ours s", "torch - eager", "ours - eager", "ours - torch")
    table = Results("Tools of others, on torch.export and on our capture", columns)
    for name in options.tools.split(","):
        for each in options.models.split(",") if options.models else TOOLS[name][0]:
            table.rows.append(row(name, each))
            print(*table.rows[-1], sep="  ", flush=True)
    table.show()
    if options.append:
        table.append()


if __name__ == "__main__":
    main()
