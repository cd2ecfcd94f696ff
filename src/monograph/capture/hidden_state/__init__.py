"""Hidden state: what an object holds that no `__dict__` shows, read and put back."""
