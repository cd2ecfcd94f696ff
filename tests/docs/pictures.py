"""Takes the pictures of the documents: pages of the site, graph pages, reports, in Chromium.

By hand: `python -W ignore -m tests.docs.pictures [--only PATTERN] [--png FOLDER]`, after the look
of a page changed, with the site built (`zensical build --clean --strict`); then look at each.
"""

from __future__ import annotations

import argparse
import linecache
import re
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import monograph
from monograph.pages import graph_page
from tests.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
DESK, PHONE = (1280, 800), (390, 844)

MODEL = """\
import random
import time

import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x).relu()


class Pool(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        y = self.second(self.first(x))
        if y.sum() > 0:
            return y / x.shape[0]
        while y.max() < 1:
            y = y + 1
        return y


class Noisy(torch.nn.Module):
    def forward(self, x, counts):
        x = x * random.random()
        for _ in range(int(counts[0])):
            x = x + 1
        return x.numpy().cumsum()


class Scaled(Block):
    def forward(self, x):
        return (self.linear(x) * x.shape[0]).relu()


def step(x, scale):
    y = x * scale
    if y.sum() > 0 and time.time() > 0:
        y = y.relu()
    return y + 1
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A page, how large and in which scheme it is shown, and what is done in it before."""

    page: Callable[[], str | Path]
    size: tuple[int, int] = DESK
    scheme: str = "light"
    script: str = ""


@cache
def models() -> dict[str, Any]:
    """The classes of `model.py`, whose lines messages show."""
    lines = MODEL.splitlines(keepends=True)
    linecache.cache["model.py"] = (len(MODEL), None, lines, "model.py")
    found: dict[str, Any] = {"__name__": "model"}
    exec(compile(MODEL, "model.py", "exec"), found)
    return found


@cache
def program() -> Any:
    """A program with modules, a branch and a loop."""
    torch.manual_seed(0)
    return monograph.export(models()["Pool"](), (torch.ones(2, 8),), dynamic_shapes="x: rows, 8")


@cache
def llama() -> str:
    """The graph page of a Llama of two layers."""
    from bench.models import llama as made  # noqa: PLC0415 - transformers is slow to import
    from bench.models import perturbed  # noqa: PLC0415

    ids = {"input_ids": torch.randint(0, 256, (2, 32))}
    shapes = {"input_ids": {0: monograph.Dim("batch", max=64), 1: monograph.Dim("seq", max=128)}}
    found = monograph.export(perturbed(made(2)).eval(), (), ids, dynamic_shapes=shapes)
    return graph_page(found, titles=("Llama, two layers",))


def lowered() -> str:
    """A program beside what it is lowered to."""
    return graph_page(
        program(), beside=program().run_decompositions(), titles=("captured", "lowered")
    )


def report() -> str:
    """The report of a model that is refused for several reasons."""
    example = (torch.rand(3), torch.tensor([4, 2]))
    try:
        monograph.export(models()["Noisy"](), example)
    except monograph.MonographError as error:
        return monograph.report.as_html(error)
    raise AssertionError


def verification() -> str:
    """The verification of a program in which an operator was exchanged."""
    module = models()["Scaled"]()
    found = monograph.export(module, (torch.ones(2, 8),), dynamic_shapes="x: rows, 8")
    return monograph.verify(found.transform(exchanged), module, samples=10).as_html()


def exchanged(graph_module: torch.fx.GraphModule) -> None:
    """Make an operator another."""
    for node in graph_module.graph.nodes:
        if node.target is torch.ops.aten.relu.default:
            node.target = torch.ops.aten.relu6.default


def profile() -> str:
    """The profile of a function that is compiled for each size it meets, and prints."""
    profiler = monograph.CompilationProfiler()
    run = monograph.optimize(profiler)(models()["step"])
    for scale in (1, 2, 3):
        run(torch.ones(scale, 4), scale)
    return profiler.to_html()


def site(name: str) -> Callable[[], Path]:
    """A page of the site."""
    return lambda: ROOT / "site" / name / "index.html"


def region(name: str) -> str:
    """The script that finds a region by its label."""
    return f"(-1 - page.view.model.regions.findIndex((each) => each.label === '{name}'))"


def node(pattern: str) -> str:
    """The script that finds the first node whose name fits."""
    return f"page.view.model.nodes.findIndex((each) => /{pattern}/.test(each.name))"


CLOSED = "(page.closeAll(), page.view.fit())"
OPENED = (
    f"(async (layer) => {{ await page.goto(page.view, layer);"
    f" if (!page.view.model.open.has(-1 - layer)) await page.toggle(page.view, layer);"
    f" page.view.show(layer); }})({region('layers.0')})"
)
CLICKED = f"page.goto(page.view, {node('^scaled_dot')})"

PICTURES = {
    "start": Picture(site("")),
    "start-phone": Picture(site(""), PHONE, "dark"),
    "guide": Picture(site("guides/control_flow")),
    "guide-phone": Picture(site("guides/control_flow"), PHONE),
    "error": Picture(site("errors/data-dependent-branch"), DESK, "dark"),
    "error-phone": Picture(site("errors/data-dependent-branch"), PHONE),
    "graph-page-closed": Picture(llama, script=CLOSED),
    "graph-page-open": Picture(llama, script=OPENED),
    "graph-page": Picture(llama, script=CLICKED),
    "graph-page-dark": Picture(llama, DESK, "dark", CLICKED),
    "graph-page-closed-phone": Picture(llama, PHONE, script=CLOSED),
    "graph-page-open-phone": Picture(llama, PHONE, script=OPENED),
    "graph-page-phone": Picture(llama, PHONE, "light", CLICKED),
    "graph-page-two": Picture(lowered, script=f"page.goto(page.view, {node('^linear')})"),
    "report": Picture(report),
    "report-phone": Picture(report, PHONE, "dark"),
    "verification": Picture(verification),
    "verification-phone": Picture(verification, PHONE, "dark"),
    "profile": Picture(profile),
    "profile-phone": Picture(profile, PHONE),
}


def take(browser: Browser, picture: Picture, file: Path, folder: Path) -> None:
    """Open the page of a picture and write what is to be seen."""
    page = picture.page()
    if isinstance(page, str):
        (folder / "page.html").write_text(page, encoding="utf-8")
        page = folder / "page.html"
    browser.size(*picture.size)
    browser.prefer(picture.scheme)
    browser.open(page, ready="document.readyState === 'complete'")
    browser.wait("!window.page || document.body.hasAttribute('data-ready')")
    if picture.script:
        browser.run(picture.script)
    browser.run("new Promise((done) => setTimeout(done, 400))")
    browser.picture(file)


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--png", type=Path, help="a folder to write PNG to instead")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder) / "profile") as browser:
        for name, picture in PICTURES.items():
            if re.search(options.only, name):
                file = FOLDER / f"{name}.webp"
                file = options.png / f"{name}.png" if options.png else file
                take(browser, picture, file, Path(folder))
                sys.stdout.write(f"{file.name} {file.stat().st_size}\n")


if __name__ == "__main__":
    main()
