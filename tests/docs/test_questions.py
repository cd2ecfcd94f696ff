"""What users ask is answered by a page among the first hits of the site's own search."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.browser import Browser, in_browser
from tests.repo.sources import ROOT

pytest.importorskip("zensical")

HERE = Path(__file__).parent
QUESTIONS = tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))["questions"]
FIRST = 3
NARROW = ["", "tutorial/03_sizes", "guides/control_flow", "guides/command_line", "verifying"]
NARROW += ["errors/data-dependent-branch", "reference/capture", "exportdb", "operators", "format"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly from a copy of its sources: no warning about links or headings."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    for name in ("mkdocs.yml", "DESIGN.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def hits(site):
    """What the search finds for each query, best first: pages, each of which may come again."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    queries = "\n".join(query for query, _ in QUESTIONS.values())
    command = [node, str(HERE / "search.mjs"), str(site)]
    done = subprocess.run(command, input=queries, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {query: [each.partition("#")[0].strip("/") for each in found[query]] for query in found}


def test_the_site_is_built(site):
    """With a page for each document, and an index to search."""
    assert (site / "index.html").exists()
    assert (site / "errors" / "sizes-disagree" / "index.html").exists()
    assert len(json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]) > 500


@in_browser
def test_pages_fit_a_phone_and_follow_the_system(site, tmp_path):
    """Nothing is wider than 390 pixels but what is scrolled by itself; dark where the system is."""
    with Browser(tmp_path) as browser:
        browser.size(390, 844)
        for scheme, color in (("light", "default"), ("dark", "slate")):
            browser.prefer(scheme)
            for name in NARROW:
                file = site / name / "index.html"
                browser.open(file, ready="document.readyState === 'complete'")
                assert browser.run("document.documentElement.scrollWidth") == 390, name
                browser.wait(f"document.body.dataset.mdColorScheme === '{color}'")


def test_there_are_sixty_questions():
    """Each is about a page that exists."""
    assert len(QUESTIONS) >= 60
    assert all((ROOT / "docs" / f"{page}.md").exists() for _, page in QUESTIONS.values())


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_is_among_the_first_hits(hits, question):
    """What is typed is found in the first three."""
    query, page = QUESTIONS[question]
    assert page in hits[query][:FIRST]
