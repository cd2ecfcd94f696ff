"""The HTML form: one page that needs nothing else, and a table to search and sort."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from monograph import report
from tests.unit.report import sample

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VOID = {"meta", "input", "br"}
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


class Reader(HTMLParser):
    """Checks that tags nest, and collects what the page would load."""

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        """Note the tag, and any address it names."""
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [v for k, v in attrs if k in {"src", "href"} and not v.startswith("#")]

    def handle_endtag(self, tag):
        """It closes the one that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Collect what is shown."""
        self.text.append(data)


def read(page):
    """Give a reader that went through the page."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_is_whole_and_loads_nothing():
    """Tags nest, no address leads outside, and the policy forbids to load anything."""
    page = report.as_html(sample.draft())
    assert read(page).loads == []
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|@import|url\(", page)


def test_source_is_shown_as_text_with_its_span_marked():
    """What the user wrote is escaped; the span of the message is marked."""
    page = report.as_html(sample.draft())
    assert "<mark>bool(x.sum() &gt; 0)</mark>" in page
    assert "<b>&amp;</b>" not in page
    assert "&lt;b&gt;&amp;amp;&lt;/b&gt;" in page


def test_everything_that_was_found_is_there():
    """Headlines, helps, shapes and assumptions of every finding are on the page."""
    draft = sample.draft()
    text = " ".join("".join(read(report.as_html(draft)).text).split())
    for finding in report.findings(draft):
        for said in (finding.headline, finding.assumed, *finding.values, *finding.notes):
            assert " ".join(said.replace("`", "").split()) in text


def in_chromium(page, tmp_path, script):
    """Give what the page is after it loaded, and a script ran in it."""
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def visible(dom):
    """Give the names in the rows that are shown, in order."""
    rows = re.findall(r"<tr class=\"\w+\"[^>]*?(hidden=\"\")?>(.*?)</tr>", dom, re.DOTALL)
    return [re.search(r"#finding-\d+\">([\w-]+)<", row)[1] for hidden, row in rows if not hidden]


@in_browser
def test_a_browser_shows_searches_and_sorts(tmp_path):
    """All rows at first; a search leaves what fits, also its sections; a head sorts, and back."""
    page = report.as_html(sample.draft())
    names = [finding.name for finding in report.findings(sample.draft())]
    assert visible(in_chromium(page, tmp_path, "")) == names

    typed = "search.value = 'REPEAT NOW'; search.dispatchEvent(new Event('input'));"
    dom = in_chromium(page, tmp_path, typed)
    assert visible(dom) == ["outside-read"]
    assert len(re.findall(r"<section[^>]*hidden", dom)) == len(names) - 1
    assert f"1 of {len(names)}" in dom

    click = "document.querySelectorAll('th button')[2].click();"
    assert visible(in_chromium(page, tmp_path, click)) == sorted(names)
    assert visible(in_chromium(page, tmp_path, click * 2)) == sorted(names, reverse=True)
