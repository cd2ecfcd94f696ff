"""The plots of the documents are drawn from the measurements that are kept, and are shown."""

import json
from xml.etree import ElementTree as ET

import pytest

from bench.history_plots import FOLDER, drawn, newest
from bench.plots import ratios
from tests.repo.sources import ROOT

SHOWN = [
    ROOT / "README.md",
    ROOT / "docs" / "guides" / "performance.md",
    ROOT / "docs" / "lowering.md",
]


def test_plots_are_those_of_the_newest_measurements():
    """Drawn again by `python -m bench.history_plots`, they are the same."""
    assert drawn() == {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}


def test_each_is_shown():
    """In the README or a page."""
    text = "".join(path.read_text(encoding="utf-8") for path in SHOWN)
    assert [name for name in drawn() if f"plots/{name}" not in text] == []
    assert "docs/plots/beside-torch-export.svg" in SHOWN[0].read_text(encoding="utf-8")


def test_a_newer_record_replaces_an_older_one(tmp_path):
    """Of each model and stage by itself; what one exporter failed at is left out."""
    old = {"model": "MLP", "stage": "call", "ours": 1.0, "torch": 2.0}
    other = {"model": "MLP", "stage": "save", "ours": 1.0, "torch": 5.0}
    failed = {"model": "MLP", "stage": "load", "ours": 1.0}
    files = {"1": [old, other, failed], "2": [{**old, "torch": 4.0}]}
    for name, records in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"records": records}), encoding="utf-8")
    found = newest(tmp_path)
    assert {key: record["torch"] for key, record in found.items()} == {
        ("MLP", "call"): 4.0,
        ("MLP", "save"): 5.0,
    }


def test_a_ratio_stands_where_its_axis_says():
    """At equal distances for equal factors, those below one to the left of it."""
    text = ratios("", "", {"row": {"a": 0.1, "b": 1.0, "c": 10.0}})
    dots = ET.fromstring(text).iter("{http://www.w3.org/2000/svg}circle")
    left, middle, right = sorted(float(each.get("cx")) for each in dots if each.get("cy") != "50.0")
    assert middle - left == pytest.approx(right - middle, abs=0.2)
    assert left < middle
