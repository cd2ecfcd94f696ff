"""Pages of tables in a browser: verifications and profiles are sorted, searched, dark and light."""

import pytest
import torch

import monograph
from tests.browser import Browser, in_browser

pytestmark = in_browser


class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu().sum(0)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One browser for all pages."""
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def verification():
    """Of a program in which an operator was exchanged: some calls differ, others are refused."""
    program = monograph.export(Model(), (torch.randn(3, 4),), dynamic_shapes="x: rows, 4")
    return monograph.verify(program.transform(exchange), Model())


def exchange(graph_module):
    """Make an operator another."""
    for node in graph_module.graph.nodes:
        if node.target is torch.ops.aten.relu.default:
            node.target = torch.ops.aten.sigmoid.default


@pytest.fixture
def shown(browser, verification, tmp_path):
    """The page of the verification, just opened."""
    file = tmp_path / "verification.html"
    file.write_text(verification.as_html(), encoding="utf-8")
    browser.size(1280, 800)
    browser.prefer("light")
    browser.open(file)
    return browser


def column(browser, place):
    """What stands in a column of the first table, in rows that are to be seen."""
    rows = "[...document.querySelector('tbody').rows].filter((row) => !row.hidden)"
    return browser.run(f"{rows}.map((row) => row.cells[{place}].textContent)")


def test_a_verification_is_searched_and_sorted(shown, verification):
    """All calls at first; a search leaves what fits, and counts it; a heading sorts, and back."""
    verdicts = [each.verdict for each in verification.samples]
    assert column(shown, 3) == verdicts
    shown.run("document.querySelectorAll('th button')[3].click()")
    assert column(shown, 3) == sorted(verdicts)
    shown.run("document.querySelectorAll('th button')[3].click()")
    assert column(shown, 3) == sorted(verdicts, reverse=True)
    shown.run("document.getElementById('search').focus()")
    shown.type("sigmoid")
    assert 0 < len(column(shown, 3)) < len(verdicts)
    assert {*column(shown, 3)} == {"different"}
    told = shown.run("document.getElementById('count').textContent")
    assert told == f"{len(column(shown, 3))} of {len(verdicts)}"


def test_dark_and_light_follow_the_system_until_one_is_chosen(shown):
    """As on the graph page."""
    background = "getComputedStyle(document.body).backgroundColor"
    light = shown.run(background)
    shown.prefer("dark")
    assert shown.run(background) != light
    shown.run("document.getElementById('theme').click()")
    assert shown.run(background) == light


def test_every_page_has_one_style_sheet_and_fits_a_phone(browser, verification, tmp_path):
    """Reports, verifications, profiles, explanations: the same look; only tables are scrolled."""
    profiler = monograph.CompilationProfiler()
    function = monograph.optimize(profiler)(lambda x, n: x * n)
    for n in (1, 2):
        function(torch.ones(3), n)
    draft = monograph.draft_export(Model(), (torch.ones(2, 3),))
    pages = {
        "verification": verification.as_html(),
        "profile": profiler.to_html(),
        "explanation": monograph.explain(Model(), torch.ones(2, 3)).to_html(),
        "report": monograph.report.as_html(draft),
    }
    styles = set()
    browser.size(390, 844)
    for name, page in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(page, encoding="utf-8")
        browser.open(file)
        assert browser.run("document.documentElement.scrollWidth") == 390, name
        styles.add(browser.run("document.querySelector('style').textContent"))
    assert len(styles) == 1
