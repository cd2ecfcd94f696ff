"""CPython's tests of its own language pass with their methods interpreted, but for known ones."""

import subprocess

import pytest

from tests.python.pythons import ask, executable


def has_tests(version):
    """Say whether there is a Python of this version, and its own tests with it."""
    path = executable(version)
    if path is None:
        return False
    told = subprocess.run(
        [path, "-c", "import test.test_grammar"], capture_output=True, check=False
    )
    return told.returncode == 0


pytestmark = pytest.mark.skipif(
    not has_tests("3.11"), reason="there is no Python 3.11 here that has its own tests"
)

ASYNCHRONOUS = "asynchronous code is refused by name"
DEPTH = "C code recurses deeper here before it gives up, since its limit is higher"
FRAMES = "the frames that Python code inspects are ours, or native ones below them"
GENERATOR = "an interpreted generator is an object of our own class"
PICKLED = "iterators of our own are not pickled and have no __setstate__"
REFERENCES = "the moment at which the last reference goes is CPython's own"
TYPES = "a type made by a call knows its module from the calling frame, which is ours"

# Quick ones, in every run of the tests.
QUICK: dict[str, dict[str, str]] = {
    "test_abc": {},
    "test_augassign": {},
    "test_baseexception": {},
    "test_binop": {},
    "test_bool": {},
    "test_class": {},
    "test_compare": {},
    "test_contains": {},
    "test_contextlib": {},
    "test_decorators": {},
    "test_defaultdict": {},
    "test_dictviews": {"DictSetTest.test_deeply_nested_repr": DEPTH},
    "test_enumerate": {},
    "test_except_star": {},
    "test_exception_group": {
        "DeepRecursionInSplitAndSubgroup.test_deep_split": DEPTH,
        "DeepRecursionInSplitAndSubgroup.test_deep_subgroup": DEPTH,
    },
    "test_exception_variations": {},
    "test_generator_stop": {},
    "test_generators": {
        "GeneratorStackTraceTest.test_throw_with_yield_from": FRAMES,
        "GeneratorTest.test_ag_frame_f_back": ASYNCHRONOUS,
        "GeneratorTest.test_cr_frame_f_back": ASYNCHRONOUS,
        "GeneratorTest.test_name": GENERATOR,
        "SignalAndYieldFromTest.test_raise_and_yield_from": "where a signal handler raises",
    },
    "test_genericalias": {},
    "test_global": {},
    "test_grammar": {
        "GrammarTests.test_async_for": ASYNCHRONOUS,
        "GrammarTests.test_async_with": ASYNCHRONOUS,
    },
    "test_isinstance": {
        "TestIsInstanceIsSubclass.test_isinstance_recursion_limit": DEPTH,
        "TestIsInstanceIsSubclass.test_subclass_recursion_limit": DEPTH,
    },
    "test_keywordonlyarg": {},
    "test_list": {"ListTest.test_repr_deep": DEPTH},
    "test_named_expressions": {},
    "test_operator": {},
    "test_patma": {},
    "test_property": {},
    "test_raise": {
        "TestTracebackType.test_attrs": FRAMES,
        "TestTracebackType.test_constructor": FRAMES,
    },
    "test_richcmp": {},
    "test_scope": {},
    "test_subclassinit": {},
    "test_super": {},
    "test_typechecks": {},
    "test_userlist": {"UserListTest.test_repr_deep": DEPTH},
    "test_with": {},
    "test_yield_from": {
        "TestPEP380Operation.test_broken_getattr_handling": "a broken `__getattr__`",
        "TestPEP380Operation.test_delegator_is_visible_to_debugger": FRAMES,
    },
}

SLOW: dict[str, dict[str, str]] = {
    "test_call": {"TestPEP590.test_vectorcall_override": "a tuple given by `*` is copied"},
    "test_dataclasses": {},
    "test_fstring": {},
    "test_functools": {},
    "test_ordered_dict": {},
    "test_sort": {},
    "test_string_literals": {},
    "test_syntax": {},
    "test_tuple": {},
}

# What fails on 3.12, 3.13 or 3.14 beside what fails on 3.11.
ELSEWHERE: dict[str, dict[str, str]] = {
    "test_contextlib": {},
    "test_except_star": {},
    "test_generators": {
        "ExceptionTest.test_gen_3_arg_deprecation_warning": GENERATOR,
        "GeneratorCloseTest.test_close_releases_frame_locals": REFERENCES,
        "GeneratorDeallocTest.test_frame_locals_outlive_generator": FRAMES,
        "GeneratorDeallocTest.test_frame_outlives_generator": FRAMES,
        "GeneratorStackTraceTest.test_throw_with_yield_from_custom_generator": FRAMES,
        "GeneratorTest.test_close_clears_frame": FRAMES,
        "ModifyUnderlyingIterableTest.test_modify_f_locals": FRAMES,
    },
    "test_grammar": {},
    "test_listcomps": {
        "ListComprehensionTest.test_frame_locals": FRAMES,
        "ListComprehensionTest.test_iter_var_available_in_locals": FRAMES,
    },
    "test_named_expressions": {},
    "test_patma": {},
    "test_scope": {},
    "test_super": {},
    "test_type_aliases": {
        "TypeAliasConstructorTest.test_basic": TYPES,
        "TypeAliasConstructorTest.test_generic": TYPES,
        "TypeAliasConstructorTest.test_keywords": TYPES,
        "TypeAliasConstructorTest.test_not_generic": TYPES,
    },
    "test_type_params": {"TypeParamsTypeVarTest.test_typevar_coroutine": ASYNCHRONOUS},
    "test_with": {
        "FailureTestCase.testAsyncEnterAttributeError": ASYNCHRONOUS,
        "FailureTestCase.testAsyncExitAttributeError": ASYNCHRONOUS,
        "FailureTestCase.testAsyncWithForSyncManager": ASYNCHRONOUS,
    },
    "test_yield_from": {},
}

MODULES = [
    *(pytest.param(name, known, id=name) for name, known in sorted(QUICK.items())),
    *(
        pytest.param(name, known, id=name, marks=pytest.mark.slow)
        for name, known in sorted(SLOW.items())
    ),
]


@pytest.mark.parametrize(("name", "known"), MODULES)
def test_cpython_agrees(name, known):
    """Every test of the module passes interpreted, unless the list above says why it cannot."""
    told = ask("3.11", "cpython", name, *known)
    assert told["failed"] == {}
    assert told["ran"] > 0
    assert told["entered"] >= told["ran"] - told["skipped"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "known"), MODULES)
def test_what_is_known_still_fails(name, known):
    """A test that passes by now leaves the list."""
    told = ask("3.11", "cpython", name)
    assert set(told["failed"]) == set(known)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ELSEWHERE))
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_cpython_agrees_elsewhere(version, name):
    """The tests of other versions pass as well, interpreted by those versions."""
    if not has_tests(version):
        pytest.skip(f"there is no Python {version} here that has its own tests")
    told = ask(version, "cpython", name)
    assert set(told["failed"]) <= {*QUICK.get(name, {}), *ELSEWHERE[name]}
    assert told["ran"] > 0
    assert told["entered"] >= told["ran"] - told["skipped"]
