"""The marker of the laws."""


def pytest_configure(config):
    """Registered here, where it is used."""
    config.addinivalue_line("markers", "laws: properties held over many inputs")
