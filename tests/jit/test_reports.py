"""What is told of graph breaks and recompilations: explanations, the profiler, logs."""

import json
import logging
import time

import torch

import monograph
from monograph import CompilationProfiler, optimize, set_logs

X = torch.linspace(-1, 1, 12).view(3, 4)


def breaking(x, n=1):
    """A function with three graph breaks of two kinds."""
    time.sleep(0)
    if x.sum() > 0:
        x = [x * n][0]
        time.sleep(0)
    else:
        time.sleep(0)
    return x + 1


def test_explain_a_call():
    """Graphs, operators, breaks with lines, guards; as text and as JSON."""
    found = monograph.explain(breaking, X + 1)
    assert found.graph_break_count == 3
    assert found.graph_count == 3
    text = str(found)
    assert "a branch on data" in text
    assert "a call of `time.sleep`" in text
    assert f"{__file__}:" in text
    assert json.loads(found.to_json())["breaks"][0]["count"] == 1


def test_explain_still_explains_names():
    """A text is the name of a diagnostic."""
    assert monograph.explain("graph-break").startswith("# graph-break")


def test_the_report_has_the_tables_of_the_document():
    """Break reasons with counts, and functions with the guards that failed, with lines."""
    profiler = CompilationProfiler()
    with optimize(profiler):
        for n in (1, 2, 3):
            breaking(X + 1, n)
    report = profiler.report()
    lines = report.splitlines()
    assert any(line.split(" | ")[0].strip() == "Graph Break Reason" for line in lines)
    assert any("Num Recompiles | Recompile Reasons" in line for line in lines)
    assert "n was 1, is 2" in report
    assert f"test_reports.py:{breaking.__code__.co_firstlineno + 3}" in report
    assert json.loads(profiler.to_json())["recompilations"]


def test_six_reasons_are_named():
    """A size, a dtype, a number, a global, a mode and an attribute."""
    global GAIN
    box = type("Box", (), {"scale": 1.0})()
    profiler = CompilationProfiler()

    def f(x, n, box):
        return x * n + GAIN * box.scale

    g = optimize(profiler)(f)
    GAIN = 1
    g(X, 2, box)
    g(X[:2], 2, box)
    g(X[:2].double(), 2, box)
    g(X[:2].double(), 3, box)
    GAIN = 2
    g(X[:2].double(), 3, box)
    box.scale = 2.0
    g(X[:2].double(), 3, box)
    with torch.inference_mode():
        g(X[:2].double(), 3, box)
    report = profiler.report()
    for word in ("x.shape", "x.dtype", "n was 2, is 3", "GAIN was 1", "box.scale", "the modes"):
        assert word in report, word
    assert "What to do:" in report


GAIN = 1


def test_logs(caplog):
    """`jit` logs breaks and recompilations; nothing where nobody listens."""
    f = optimize()(lambda x: x * x.shape[0])
    with caplog.at_level(logging.DEBUG, logger="monograph.jit"):
        f(X)
        f(X[:2])
    assert "x.shape was (3, 4), is (2, 4)" in caplog.text
    assert "def replay(s):" in caplog.text
    set_logs(jit=True)
    assert logging.getLogger("monograph.jit").level == logging.DEBUG
    set_logs()
