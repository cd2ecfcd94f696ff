"""The graph page in a browser: search, opening, clicks, keys, sizes, themes, hostile names."""

import re

import pytest

import monograph
from monograph.pages import graph_page
from tests.browser import Browser, in_browser
from tests.pages.programs import HOSTILE, chain, hostile, sample

pytestmark = in_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One browser for all pages."""
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page of the sample."""
    return sample().to_html(tmp_path_factory.mktemp("page") / "sample.html")


@pytest.fixture
def shown(browser, file):
    """The page of the sample, just opened at the size of a desk."""
    browser.size(1280, 800)
    browser.prefer("light")
    browser.open(file)
    return browser


def item_named(name):
    """The script that finds a node, or a region, by its name."""
    node = f"page.view.model.nodes.findIndex((node) => node.name === '{name}')"
    region = f"-1 - page.view.model.regions.findIndex((region) => region.label === '{name}')"
    return f"({node} >= 0 ? {node} : {region})"


def point_of(browser, name, right=0.5):
    """Where a visible item is on the screen."""
    return browser.run(
        f"(() => {{ const v = page.view, p = v.layout.items.get({item_named(name)});"
        f"const [x, y] = v.toScreen(p.x + p.width * {right}, p.y + 10);"
        "const r = v.canvas.getBoundingClientRect(); return [x + r.left, y + r.top]; })()"
    )


def visible(browser):
    """The labels of all visible items."""
    return set(
        browser.run("[...page.view.layout.items.keys()].map((i) => page.view.model.label(i))")
    )


def panel(browser):
    """What is written in the panel."""
    return browser.run("document.getElementById('panel-body').innerText").replace("\xa0", " ")


def close_all(browser):
    """Close every region, and wait for the layout."""
    browser.run("(page.view.model.open = new Set([0]), page.view.relayout())")


def test_a_click_selects_and_a_double_click_opens(shown):
    """A region is selected, opened and closed again by its title; a node shows what it is."""
    close_all(shown)
    assert "linear" not in visible(shown)
    shown.click(*point_of(shown, "second"))
    assert "Scale · module" in panel(shown)
    shown.click(*point_of(shown, "second"), times=2)
    shown.wait("page.view.layout.items.has(" + item_named("relu_1") + ")")
    shown.run("page.goto(page.view, " + item_named("relu_1") + ")")
    told = panel(shown)
    assert "return self.linear(x).relu()" in told
    assert "f32[2*half, 4]" in told
    assert "f32[6, 4]" in told
    assert "aten::relu(Tensor self) -> Tensor" in told
    shown.click(*point_of(shown, "second", right=0.02))
    shown.wait("!page.view.layout.items.has(" + item_named("relu_1") + ")")


def test_search_finds_operators_modules_and_lines_and_opens_what_is_around(shown):
    """Enter goes to what was found, and on; the number of finds is told; escape ends it."""
    close_all(shown)
    shown.press("/")
    shown.type("y.sin()")
    shown.press("Enter")
    shown.wait("page.view.selected === " + item_named("sin"))
    assert "sin" in visible(shown)
    assert shown.run("document.getElementById('found').textContent") == "1 of 1"
    shown.press("Escape")
    assert shown.run("document.activeElement.tagName") == "CANVAS"
    assert shown.run("page.view.model.found.size") == 0
    shown.press("/")
    shown.type("Linear")
    shown.wait("document.querySelectorAll('#results button').length >= 4")


def test_keys_move_open_and_close(shown):
    """Down leads to a user, up back; enter opens a region; backspace goes out, escape away."""
    close_all(shown)
    shown.click(*point_of(shown, "first"))
    shown.press("ArrowDown")
    assert shown.run("page.view.model.label(page.view.selected)") == "second"
    shown.press("ArrowUp")
    assert shown.run("page.view.model.label(page.view.selected)") == "first"
    shown.press("Enter")
    shown.wait("page.view.layout.items.has(" + item_named("relu") + ")")
    shown.run("page.select(page.view, " + item_named("relu") + ")")
    shown.press("Backspace")
    assert shown.run("page.view.model.label(page.view.selected)") == "first"
    assert "first" in shown.run("document.getElementById('said').textContent")
    shown.press("Escape")
    assert shown.run("page.view.selected") is None
    shown.press("c")
    shown.wait("!page.view.layout.items.has(" + item_named("relu") + ")")


def test_sizes_are_computed_again_where_a_reader_changes_them(shown):
    """Types, bytes and broken guards follow the number that was typed."""
    shown.run("page.goto(page.view, " + item_named("relu_1") + ")")
    shown.run("document.querySelector('[data-size=half]').focus()")
    shown.run("document.querySelector('[data-size=half]').select()")
    shown.type("10")
    assert "f32[20, 4]" in panel(shown)
    assert "320 B" in panel(shown)
    assert shown.run("document.getElementById('broken').textContent") == ""
    shown.type("0")
    assert "half is at most 32" in shown.run("document.getElementById('broken').textContent")


def test_contract_weights_and_report_are_beside_the_graph(shown):
    """Each has a tab, and says what the program says."""
    for tab, told in (
        ("contract", "f32[2*half, 4]"),
        ("weights", "second.linear.weight"),
        ("report", str(sample().report).split("\n", maxsplit=1)[0]),
    ):
        shown.run(f"document.querySelector('[data-tab={tab}]').click()")
        assert told in panel(shown)


def test_weights_are_shown_where_they_are_asked_for(shown):
    """They are hidden at first."""
    shown.run("(page.view.model.openAll(), page.view.relayout())")
    assert "p_first_linear_weight" not in visible(shown)
    shown.run("document.getElementById('weights').click()")
    shown.wait("page.view.layout.items.has(" + item_named("p_first_linear_weight") + ")")


def test_no_box_lies_on_another(shown):
    """With everything open, siblings do not overlap, and regions hold what is in them."""
    overlaps = """
      (() => { const v = page.view, wrong = []; const all = [...v.layout.items.values()];
        for (const a of all) {
          const around = v.layout.items.get(-1 - v.model.parent(a.item));
          if (around && (a.x < around.x || a.y < around.y || a.x + a.width > around.x + around.width
            || a.y + a.height > around.y + around.height)) wrong.push(['outside', a.item]);
          for (const b of all) {
            if (a.item <= b.item || v.model.parent(a.item) !== v.model.parent(b.item)) continue;
            if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height
              && b.y < a.y + a.height) wrong.push([a.item, b.item]);
          }
        } return [all.length, wrong]; })()"""
    shown.run("(page.view.model.openAll(), page.view.relayout())")
    count, wrong = shown.run(overlaps)
    assert count > 20
    assert wrong == []


def test_dark_and_light_follow_the_system_until_one_is_chosen(shown):
    """The canvas and the page have the colours of the scheme."""
    background = "getComputedStyle(document.body).backgroundColor"
    light = shown.run(background)
    shown.prefer("dark")
    dark = shown.run(background)
    assert light != dark
    shown.wait(f"page.colors.background === {background}")
    shown.press("t")
    assert shown.run(background) == light
    assert shown.run("page.colors.background") == light


def test_it_fits_a_phone(browser, file):
    """Nothing is wider than 390 pixels, and a tap shows the panel below the graph."""
    browser.size(390, 844)
    browser.open(file)
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run("document.getElementById('panel').hidden")
    browser.run("page.goto(page.view, " + item_named("relu_1") + ")")
    assert browser.run("document.documentElement.scrollWidth") == 390
    top, bottom = browser.run(
        "[page.view.canvas.getBoundingClientRect().bottom,"
        "document.getElementById('panel').getBoundingClientRect().top]"
    )
    assert top <= bottom


def test_names_and_lines_are_text_whatever_is_in_them(browser, tmp_path):
    """No script of a name runs, no element is made of it, and it is shown as it is."""
    page = hostile().to_html(tmp_path / "hostile.html")
    assert HOSTILE not in page.read_text(encoding="utf-8")
    browser.size(1280, 800)
    browser.open(page)
    browser.run("page.goto(page.view, page.view.model.nodes.findIndex((n) => n.kind === 'call'))")
    assert browser.run("document.title") == "hostile"
    assert browser.run("document.images.length") == 0
    assert HOSTILE in panel(browser)
    assert HOSTILE.replace(".", "") in browser.run("page.view.model.path(page.view.selected)")


def test_two_programs_are_side_by_side(browser, tmp_path):
    """What differs is counted; selecting a node marks what it became on the other side."""
    both = sample().to_html(tmp_path / "both.html", beside=sample().run_decompositions())
    browser.size(1280, 800)
    browser.open(both)
    assert browser.run("page.views.length") == 2
    assert re.match(r"\d+ nodes before alone", browser.run("byId('summary').textContent"))
    browser.run("(page.views[1].model.openAll(), page.views[1].relayout())")
    browser.run("page.goto(page.views[0], " + item_named("linear_1") + ")")
    linked = browser.run("[...page.views[1].linked].map((i) => page.views[1].model.label(i))")
    assert "addmm" in linked
    assert "corresponds in after" in panel(browser)


def test_the_command_line_draws_files(browser, tmp_path, capsys):
    """`show --html` and `diff --html` write pages that open, named as the files are."""
    from monograph.cli import programs  # noqa: PLC0415 - its imports are lazy

    monograph.save(sample(), tmp_path / "one.pt2")
    monograph.save(sample().run_decompositions(), tmp_path / "two.pt2")
    one, two, out = (str(tmp_path / name) for name in ("one.pt2", "two.pt2", "out.html"))
    assert programs.show(one, html=out) == 0
    browser.open(tmp_path / "out.html")
    assert browser.run("document.title") == "one.pt2"
    browser.run("page.goto(page.view, " + item_named("relu_1") + ")")
    assert "return self.linear(x).relu()" in panel(browser)
    assert programs.diff(one, two, html=out) == 1
    browser.open(tmp_path / "out.html")
    assert browser.run("document.title") == "one.pt2 → two.pt2"
    capsys.readouterr()


PANNED = """(async () => {
  const view = page.view, times = [];
  let last = performance.now();
  for (let i = 0; i < 60; i += 1) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
    view.at.x += i % 20 < 10 ? 9 : -9;
    view.at.y += i % 20 < 10 ? -14 : 14;
    view.draw();
  }
  times.sort((a, b) => a - b);
  return [times[30], times[57]];
})()"""


@pytest.mark.slow
def test_five_thousand_nodes_stay_fluent(browser, tmp_path):
    """With all of them open, half of the frames take 40 ms at most, from near and from afar."""
    browser.size(1280, 800)
    browser.open(chain(3750).to_html(tmp_path / "chain.html"))
    browser.run("(page.view.model.openAll(), page.view.relayout())")
    assert browser.run("page.view.list.length") > 5000
    for scale in (1, 0.3, 0.02):
        browser.run(f"page.view.zoom({scale} / page.view.at.scale)")
        median, slow = browser.run(PANNED)
        assert median < 40, (scale, median)
        assert slow < 200, (scale, slow)


@pytest.mark.slow
def test_fifty_thousand_nodes_open_closed(browser, tmp_path):
    """The page shows some closed regions, within seconds."""
    page = tmp_path / "chain.html"
    page.write_text(graph_page(chain(37500)), encoding="utf-8")
    browser.open(page)
    assert browser.run("page.view.model.nodes.length") > 50000
    assert browser.run("page.view.list.length") < 100
    assert browser.run("performance.now()") < 20000
    median, _ = browser.run(PANNED)
    assert median < 40
