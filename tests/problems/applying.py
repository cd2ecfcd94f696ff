"""Models as source text in a file, so that the edits of a message can be applied to them."""

import importlib.util
import itertools

from monograph import MonographError, export

_NUMBERS = itertools.count()


def module_of(source, folder):
    """Write the source to a file of its own; give the module and the file."""
    path = folder / f"model_{next(_NUMBERS)}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refusal(module, args, **options):
    """Give what the module's `Model` is refused for without branches; None if it exports."""
    try:
        export(module.Model(), args, control_flow="refuse", **options)
    except MonographError as error:
        return error
    return None
