"""Every registered model, written as Python and run, answers as itself at other sizes."""

from monograph import ContractError
from tests.models.harness import assert_answers_as, build, captured_once
from tests.models.test_models import every_model
from tests.programs.texts import Texted


@every_model
def test_text_answers_at_other_sizes(model, exporter):
    """Captured with varying sizes, the text gives what the model gives at every other size."""
    program = captured_once(model, exporter, "automatic")
    for sizes in model.sizes:
        module = Texted(program).module()
        module.load_state_dict(build(model)[0].state_dict(), strict=False)
        try:
            assert_answers_as(model, module, sizes)
        except ContractError:
            program.check_inputs(*build(model)[1](**sizes)[0], **build(model)[1](**sizes)[1])
            raise
