"""Stands for a program that runs as the text it writes of itself."""

from dataclasses import dataclass

from monograph import ExportedProgram
from monograph.diagnostics import Clause, problem


@dataclass
class Texted:
    """A program, and the module whose `forward` is the text's."""

    program: ExportedProgram

    def module(self):
        """Run the text with the state that `program.module()` has."""
        module = self.program.module()
        namespace = {}
        exec(compile(self.program.to_python(), "program.py", "exec"), namespace)
        state = {**self.program.state_dict, **self.program.constants}

        def forward(*args, **kwargs):
            return namespace["forward"](state, *args, **kwargs)

        checked = namespace.get("check_inputs")

        def check_inputs(*leaves):
            try:
                checked(*leaves)
            except (AssertionError, AttributeError) as error:
                clause = Clause("check_inputs", "nothing", str(error))
                raise problem("contract-broken", clauses=[clause]) from error

        namespace["check_inputs"] = check_inputs
        module.forward = forward
        return module
