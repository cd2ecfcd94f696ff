"""Every registered model comes back as modules that answer, and hold state, as the original's."""

from monograph import unflatten
from tests.models.harness import assert_answers_as, build, captured_once
from tests.models.test_models import every_model


@every_model
def test_unflattened_answers_at_other_sizes(model, exporter):
    """Captured with varying sizes and unflattened, it gives what the model gives at other sizes."""
    program = captured_once(model, exporter, "automatic")
    reference, _ = build(model)
    for sizes in model.sizes:
        module = unflatten(program)
        module.load_state_dict(reference.state_dict(), strict=True)
        assert_answers_as(model, module, sizes)


@every_model
def test_called_modules_come_back(model, exporter):
    """Each called module of the original is found under its name and has the original's state."""
    program = captured_once(model, exporter, "static")
    reference, _ = build(model)
    module = unflatten(program)
    called = {entry.fqn for entry in program.module_call_graph if "@" not in entry.fqn}
    used = {
        name
        for name, part in reference.named_modules()
        if name in called and any(part.state_dict())
    }
    for name in used:
        mine, theirs = module.get_submodule(name), reference.get_submodule(name)
        assert set(mine.state_dict()) == set(theirs.state_dict()), name
