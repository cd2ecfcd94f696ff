"""A program in all its forms: as captured, lowered, saved and loaded, unflattened."""

import io

import monograph


def forms_of(program):
    """Give what can be called in its place."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    programs = program, program.run_decompositions(), monograph.load(file)
    return [*(each.module() for each in programs), monograph.unflatten(program)]
