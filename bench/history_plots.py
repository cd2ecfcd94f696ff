"""The plots of the documents, drawn from the newest record of each pair in bench/history/.

    python -m bench.history_plots

`bench.suite` calls it at its end. Nothing is measured here, so it can run again at any time.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.plots import plot, ratios
from bench.results import ROOT

HISTORY = ROOT / "bench" / "history"
FOLDER = ROOT / "docs" / "plots"
PEERS = {"ours": "monograph", "torch": "torch.export", "eager": "a call"}
ROWS = {
    "capture, fixed": "capture, fixed sizes",
    "capture, varying": "capture, varying sizes",
    "capture, strict": "strict capture",
    "lowering": "lowering to core ATen",
    "save": "saving",
    "load": "loading",
    "call": "a call",
    "training step": "a training step",
}
MODELS = ("Linear", "MLP", "GPT-12", "ResNet-18", "Llama-4")
COSTS = {"capture": "capture, fixed", "lowering": "lowering"}


def newest(folder: Path = HISTORY) -> dict[tuple[str, str], dict[str, Any]]:
    """The newest record of each model and stage that both exporters were measured at."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for file in sorted(folder.glob("*.json")):
        for record in json.loads(file.read_text(encoding="utf-8"))["records"]:
            if record.get("ours") and record.get("torch"):
                found[record["model"], record["stage"]] = record
    return found


def drawn(folder: Path = HISTORY) -> dict[str, str]:
    """Each plot by the name of its file."""
    records = newest(folder)
    plots: dict[str, str] = {}
    for name, stage in COSTS.items():
        series: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for (model, at), record in records.items():
            kind, _, count = model.partition(":")
            if kind == "chain" and at == stage:
                for who in PEERS:
                    if record.get(who):
                        series[PEERS[who]].append((float(count), 1000 * record[who]))
        if series:
            ordered = {who: sorted(points) for who, points in series.items()}
            title = f"Cost of {name} against the length of a chain of layers"
            plots[f"cost-of-{name}.svg"] = plot(title, "layers", "processor ms", ordered)
    rows = {
        words: {
            model: records[model, stage]["torch"] / records[model, stage]["ours"]
            for model in MODELS
            if (model, stage) in records
        }
        for stage, words in ROWS.items()
    }
    shown = {words: row for words, row in rows.items() if row}
    if shown:
        title, across = "How many times faster than torch.export", "processor time, torch / ours"
        plots["beside-torch-export.svg"] = ratios(title, across, shown)
    return plots


def write() -> list[str]:
    """Write the plots; give the lines that show them in bench/RESULTS.md."""
    FOLDER.mkdir(exist_ok=True)
    lines: list[str] = []
    for name, text in drawn().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        lines.append(f"![{name.removesuffix('.svg').replace('-', ' ')}](../docs/plots/{name})")
    return lines


if __name__ == "__main__":
    print("\n".join(write()))
