"""Function overrides: what of torch user code reaches otherwise while it is captured."""
