"""The forms that a program takes between its export and its call."""

import io

import monograph
from tests.programs.texts import Texted


def loaded(program):
    """Saved and loaded."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return monograph.load(file).module()


def decomposed(program):
    """After the default decompositions."""
    return program.run_decompositions().module()


def unflattened(program):
    """With the module hierarchy of the original."""
    return monograph.unflatten(program)


def text(program):
    """Written as Python, and run."""
    return Texted(program).module()


FORMS = {each.__name__: each for each in (loaded, decomposed, unflattened, text)}
