"""The messages of text generation with a captured language model.

not-generative      model, reason       UnsupportedError
generation-limit    what, given, limit  ContractError
token-out-of-range  token, size         ContractError
foreign-state       broken              ContractError
"""

from __future__ import annotations

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import ContractError, UnsupportedError
from monograph.diagnostics.wording import offer


@message("not-generative", UnsupportedError)
def not_generative(*, model: str, reason: str) -> Text:
    """Say why a model cannot be exported with its generation loop."""
    return Text(
        headline=f"{model} cannot be exported for generation: {reason}",
        helps=(
            offer("export what it does as entries", 'export_methods(model, {"prefill": call(x)})'),
        ),
    )


@message("generation-limit", ContractError)
def generation_limit(*, what: str, given: object, limit: object) -> Text:
    """Say that there are more texts or tokens than the program was made for."""
    return Text(
        headline=f"the program is for {limit} {what}, and got {given}",
        notes=("nothing has run, and no cache has changed",),
        helps=(
            offer("export it for more", "generation.export(model, max_batch=8, max_length=512)"),
        ),
    )


@message("token-out-of-range", ContractError)
def token_out_of_range(*, token: int, size: int) -> Text:
    """Say that a token is none of the vocabulary."""
    return Text(
        headline=f"{token} is no token: the vocabulary has {size}, from 0 to {size - 1}",
        notes=("nothing has run, and no cache has changed",),
    )


@message("foreign-state", ContractError)
def foreign_state(*, broken: bool) -> Text:
    """Say that a state is not one that this program can go on with."""
    why = "a step with it was interrupted" if broken else "another program began it"
    return Text(
        headline=f"this program cannot go on with the state: {why}",
        notes=("nothing has run, and no cache has changed",),
        helps=(offer("begin with the prompt", "state = program.start(input_ids)"),),
    )
