"""Notebooks show a program compactly and safely."""

from html.parser import HTMLParser

from monograph.program.html import summary


class Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_well_formed(program):
    """Every tag is closed, code is folded away, and user text is escaped."""
    text = program._repr_html_()
    parser = Balance()
    parser.feed(text)
    assert not parser.open
    assert "<details><summary>code</summary>" in text
    assert "batch[&#x27;mask&#x27;]" in text
    assert "f32[batch, 3]" in text


def test_summary(program):
    """The first line says how large the program is."""
    assert summary(program) == "6 operators, 15 parameters"
