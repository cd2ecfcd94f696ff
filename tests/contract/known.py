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

GENERATOR = "a torch.Generator as an argument cannot be written down, and is not refused"
SEED = "the state of torch's generator is read behind the graph"
BUFFER = "a buffer's new value requires gradients, and the program writes it in place"
TEXT = "the text of a size that varies, or of a tensor, is not the text at run time"
SET = "the caller's tensor gets another flag or other memory, which no operator records"

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
    ("a_size_as_a_key", "export"): TEXT,
    ("a_size_as_a_text", "example"): TEXT,
    ("a_size_as_a_text", "longer"): TEXT,
    ("a_size_as_a_text", "one"): TEXT,
    ("formatted", "export"): TEXT,
    ("shown_to_people", "example"): TEXT,
    ("shown_to_people", "negative"): TEXT,
    ("requires_grad_set", "example"): SET,
    ("data_of_an_input_replaced", "example"): SET,
    ("data_of_an_input_replaced", "same"): SET,
    ("InputItselfKept", "twice"): SET,
    ("address_and_storage", "gapped"): SET,
    ("address_and_storage", "offset"): SET,
    ("address_and_storage", "repeated"): SET,
    ("address_and_storage", "column"): SET,
    ("drawn_from_a_generator", "example"): GENERATOR,
    ("drawn_from_a_generator", "twice"): GENERATOR,
    ("drawn_from_a_global_generator", "example"): GENERATOR,
    ("drawn_from_a_global_generator", "twice"): GENERATOR,
    ("DrawnFromItsOwn", "example"): GENERATOR,
    ("DrawnFromItsOwn", "twice"): GENERATOR,
    ("BufferWithGradient", "thrice"): BUFFER,
    ("ParametersChanged", "no parameter gradients"): FLAGS,
    ("random_state_asked", "example"): SEED,
    ("random_state_asked", "twice"): SEED,
    ("PartlyFrozen", "train"): TRAINING,
    ("FrozenAlways", "train"): TRAINING,
}

IDENTITY = "whether two objects are one is asked without a hook"
CHANCE = "a clock and an address leave no trace in the module"
GLOBAL = "a global is written without a hook, and nothing of the program reads it"

BEYOND_PLAIN: dict[str, str] = {
    "identity_asked": IDENTITY,
    "identity_denied": IDENTITY,
    "clock_read": CHANCE,
    "identity_of_an_object": CHANCE,
    "identity_of_an_input": CHANCE,
}
