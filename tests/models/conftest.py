"""Fixtures of the model tests: which exporter stands before the models (ours unless told)."""

import pytest

from tests.models.harness import Exporter, exporter_named


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a peer stand in: `pytest tests/models --exporter torch.export:export`."""
    parser.addoption("--exporter", default="monograph:export", help="module:function")


@pytest.fixture(scope="session")
def exporter(request: pytest.FixtureRequest) -> Exporter:
    """Give the exporter under test."""
    return exporter_named(request.config.getoption("exporter", "monograph:export"))
