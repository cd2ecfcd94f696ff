"""Calls that go wrong today, with the mechanism that is missing; the list shrinks.

`KNOWN` holds a call of a probe, in every form: a call listed here that agrees, or is refused, fails
the tests until it is taken off. `BEYOND_PLAIN` holds probes that plain Python cannot see through:
there is no hook on a global, a clock or `id`. The interpreter sees them, and must refuse them all.
"""

TYPE = "the class of a tensor input is not guarded (parameter, subclass)"
KEYS = "keys are compared by equality, not by type; keywords by name, not by order"
FLAGS = "requires_grad, is_leaf, conj and neg bits that user code asked for are not guarded"
MODES = "grad, inference, autocast, default dtype, default device, determinism are not guarded"
TRAINING = "train() on a program whose parts differ in mode changes nothing and is not refused"

HASH = "a size that varies has no hash: code that asks sees TypeError, as with torch.export"
TEXT = "the text of a size that varies, or of a tensor, is not the text at run time"

KNOWN: dict[tuple[str, str], str] = {
    ("numbers_as_keys", "floats"): KEYS,
    ("numbers_as_keys", "a bool"): KEYS,
    ("any_keywords", "other order"): KEYS,
    ("class_of_the_input", "a parameter"): TYPE,
    ("a_subclass_at_the_call", "a subclass"): TYPE,
    ("requires_grad_asked", "with gradient"): FLAGS,
    ("requires_grad_asked", "computed"): FLAGS,
    ("requires_grad_asked", "a parameter"): FLAGS,
    ("requires_grad_of_the_example", "without"): FLAGS,
    ("requires_grad_of_the_example", "under no_grad"): FLAGS,
    ("leaf_asked", "computed"): FLAGS,
    ("grad_fn_asked", "computed"): FLAGS,
    ("conj_asked", "conjugate"): FLAGS,
    ("neg_asked", "negative"): FLAGS,
    ("grad_mode_asked", "no_grad"): MODES,
    ("grad_mode_asked", "inference"): MODES,
    ("grad_on_inside", "no_grad"): MODES,
    ("inference_asked", "inference"): MODES,
    ("exported_under_autocast", "none"): MODES,
    ("exported_under_autocast", "half"): MODES,
    ("autocast_asked", "autocast"): MODES,
    ("default_dtype_asked", "double"): MODES,
    ("made_of_numbers", "double"): MODES,
    ("default_device", "meta"): MODES,
    ("determinism_asked", "deterministic"): MODES,
    ("requires_grad_set", "example"): FLAGS,
    ("a_size_as_a_key", "export"): HASH,
    ("a_size_as_a_text", "example"): TEXT,
    ("a_size_as_a_text", "longer"): TEXT,
    ("a_size_as_a_text", "one"): TEXT,
    ("shown_to_people", "example"): TEXT,
    ("shown_to_people", "negative"): TEXT,
    ("ParametersChanged", "no parameter gradients"): FLAGS,
    ("PartlyFrozen", "train"): TRAINING,
    ("FrozenAlways", "train"): TRAINING,
}

IDENTITY = "whether two objects are one is asked without a hook"
CHANCE = "a clock and an address leave no trace in the module"

BEYOND_PLAIN: dict[str, str] = {
    "identity_asked": IDENTITY,
    "identity_denied": IDENTITY,
    "random_state_asked": CHANCE,
    "clock_read": CHANCE,
    "identity_of_an_object": CHANCE,
    "identity_of_an_input": CHANCE,
}
