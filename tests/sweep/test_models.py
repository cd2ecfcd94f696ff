"""Lists of models: what is understood, what is refused, and what a key depends on."""

import pytest

from monograph.factories import NotThereError
from monograph.sweep import models
from monograph.sweep.models import SweptModel, preloaded, read_models, task_of


def read(text, folder, **given):
    """The models of a TOML file with this text."""
    (folder / "list.toml").write_text(text, encoding="utf-8")
    return read_models(folder / "list.toml", lambda place: ["a", "b"], given)


def test_a_list(tmp_path):
    """Options of all, of one, and those that are given; files are relative to the list."""
    found = read(
        """
        [sweep]
        seconds = 5
        samples = 3
        preload = ["json"]
        [models]
        short = "net.py:make"
        imported = "package.net:make"
        [models.long]
        factory = "net.py:make"
        dynamic = "x: n"
        seconds = 7.5
        convert = ["onnx"]
        [models.bert]
        transformers = "BertModel"
        config = { hidden_size = 8 }
        [models.zoo]
        table = "tables.py:models"
        """,
        tmp_path,
        samples=9,
    )
    given = {"seconds": 5, "samples": 9}
    net = f"{tmp_path}/net.py:make"
    table = f"{tmp_path}/tables.py:models"
    assert found == [
        SweptModel("short", "factory", net, **given),
        SweptModel("imported", "factory", "package.net:make", **given),
        SweptModel(
            "long", "factory", net, dynamic="x: n", **{**given, "seconds": 7.5}, convert=("onnx",)
        ),
        SweptModel("bert", "transformers", "BertModel", config=("hidden_size=8",), **given),
        SweptModel("zoo/a", "factory", table, "a", **given),
        SweptModel("zoo/b", "factory", table, "b", **given),
    ]
    assert preloaded(tmp_path / "list.toml") == ["json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "list.toml: "),
        ("[models]", "no model in "),
        ("models = 3", "write [sweep], and [models.NAME]"),
        ("[models]\na = 3", "model 'a': write a table"),
        ("[models.a]\nfactry = 'm:f'", "model 'a' has no 'factry'; 'factory'?"),
        ("[models.a]\ndynamic = 'x: n'", "model 'a': name one of factory, script"),
        ("[models.a]\nfile = 'a'\nscript = 'b'", "model 'a': name one of factory, script"),
        ("[models.a]\nfactory = 'm:f'\nseconds = 'x'", "model 'a': seconds is 'x'; write a int or"),
        ("[models.a]\nfactory = 'm:f'\nsamples = true", "model 'a': samples is True"),
        (
            "[models.a]\nfactory = 'm:f'\nconvert = ['ox']",
            "model 'a': programs are converted to onnx",
        ),
        ("[models.a]\nfactory = 'm:f'\nseconds = 0", "model 'a': seconds is 0; write more than 0"),
        ("[sweep]\npreload = 3\n[models]\na = 'm:f'", "preload is a list of modules"),
        ("[sweep]\nsecond = 3\n[models]\na = 'm:f'", "[sweep] has no 'second'; 'seconds'?"),
        ("[models]\na = 'm:f'\na = 'm:f'", "list.toml: "),
        ("[models]\n'zoo/a' = 'm:f'\n[models.zoo]\ntable = 'm:f'", "names of models twice: zoo/a"),
    ],
)
def test_lists_that_are_refused(tmp_path, text, said):
    """With what is wrong, and where."""
    with pytest.raises(NotThereError) as caught:
        read(text, tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["none.toml", "list.txt", "empty", "broken.py", "helper.py"])
def test_files_that_list_nothing(tmp_path, name):
    """Missing, of another kind, an empty folder, no Python, and Python that exports nothing."""
    (tmp_path / "list.txt").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.py").write_text("def", encoding="utf-8")
    (tmp_path / "helper.py").write_text("x = 1", encoding="utf-8")
    with pytest.raises(NotThereError):
        read_models(tmp_path / name, lambda place: [], {})


def test_options_that_are_unknown(tmp_path):
    """As in a list."""
    with pytest.raises(NotThereError, match="a sweep has no 'sample'; 'samples'"):
        read("[models]\na = 'm:f'", tmp_path, sample=3)


def test_what_a_key_depends_on(tmp_path, monkeypatch):
    """The source, the options, the exporter and versions; not the name."""
    source = tmp_path / "net.py"
    source.write_text("one", encoding="utf-8")
    place = f"{source}:make"
    model = SweptModel("a", "factory", place)
    first = task_of(model, "monograph")["key"]
    assert task_of(SweptModel("b", "factory", place), "monograph")["key"] == first
    others = [
        task_of(model, "torch.export")["key"],
        task_of(model, "monograph", keep="kept")["key"],
        task_of(SweptModel("a", "factory", place, samples=3), "monograph")["key"],
        task_of(SweptModel("a", "factory", place, entry="x"), "monograph")["key"],
    ]
    source.write_text("two", encoding="utf-8")
    others.append(task_of(model, "monograph")["key"])
    monkeypatch.setattr(models, "versions", lambda: {"torch": "3"})
    others.append(task_of(model, "monograph")["key"])
    assert len({first, *others}) == len(others) + 1


def test_sources_of_modules_are_found_without_importing_them(tmp_path, monkeypatch):
    """A package that raises when it is imported does not matter to the driver."""
    package = tmp_path / "raising_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError", encoding="utf-8")
    (package / "net.py").write_text("one", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    model = SweptModel("a", "factory", "raising_package.net:make")
    first = task_of(model, "monograph")["key"]
    (package / "net.py").write_text("two", encoding="utf-8")
    assert task_of(model, "monograph")["key"] != first
    assert task_of(SweptModel("a", "factory", "no.such:make"), "monograph")["key"]
