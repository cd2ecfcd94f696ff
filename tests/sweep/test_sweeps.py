"""Sweeps of tiny and hostile models: verdicts, reports, and that nothing is lost or done twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import torch

import monograph
from monograph.cli.sweeping import live_table
from monograph.sweep.results import ResultStore
from monograph.sweep.sweeping import PREVIOUS
from tests.repo.sources import environment
from tests.sweep.conftest import MODELS, VERDICTS
from tests.sweep.test_processes import is_running, wait_until_gone

LIST = """
[sweep]
seconds = 30
samples = 4

[models]
{}
"""


def listed(folder, *names, rest=""):
    """Write a list of models out of `models.py`."""
    lines = [f'{name} = "models.py:{name}"' for name in names]
    (folder / "list.toml").write_text(LIST.format("\n".join(lines)) + rest, encoding="utf-8")


def report(folder="sweep"):
    """What `report.json` says, but for what was measured."""
    found = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
    for each in [*found["results"], *found["peers"]]:
        assert each.pop("measured")["peak bytes"] > 1e6
    return found


INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("monograph", run_name="__main__")
"""
"""What a shell starts in the background ignores SIGINT, and so does what it starts."""


def command(*words):
    """A sweep in a process of its own, by the command line."""
    return subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "sweep", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(*words):
    """The exit status of a sweep in a process of its own."""
    driver = command(*words)
    driver.communicate()
    return driver.returncode


def written(folder="sweep"):
    """When each result was written."""
    return {path.name: path.stat().st_mtime_ns for path in Path(folder, "results").glob("*.json")}


class Watched:
    """Which models were started, and what became of them."""

    def __init__(self):
        self.started, self.ended = [], {}

    def __call__(self, task, told):
        if told.get("at") == "start":
            self.started.append(task["name"])
        elif "verdict" in told:
            self.ended[task["name"]] = told["verdict"]


def children(pid):
    """The processes that a process started, and that run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid and is_running(int(stat.parent.name)):
            found.append(int(stat.parent.name))
    return found


def wait_for(condition):
    """Wait until a condition holds."""
    end = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A sweep over every model, and its folder."""
    folder = tmp_path_factory.mktemp("hostile")
    names = [*VERDICTS]
    (folder / "models.py").write_text(MODELS, encoding="utf-8")
    places = {name: {"factory": f"{folder}/models.py:{name}"} for name in names}
    places["hangs"]["seconds"] = 1
    places["missing"] = "nowhere.to:make"
    places["no file"] = {"file": str(folder / "none.pt2")}
    found = monograph.sweep(places, folder / "out", processes=2, seconds=60, memory=2, samples=4)
    return found, folder / "out"


def test_verdicts(hostile):
    """Each model has its own, whatever the others do; the sweep is not right."""
    found, _ = hostile
    verdicts = {each["name"]: each["verdict"] for each in found.results}
    assert verdicts == {**VERDICTS, "missing": "no-model", "no file": "no-model"}
    assert not found
    assert found.groups["not-there"] == ["nothing", "missing", "no file"]
    assert found.groups["view-impossible"] == ["refused"]


def test_what_records_say(hostile):
    """Stages, lines of the user's, stacks of crashes, no addresses, and ends of long outputs."""
    found, folder = hostile
    records = {each["name"]: each for each in found.results}
    (refusal,) = records["refused"]["problems"]
    assert refusal["at"] == f"{folder.parent}/models.py:15"
    assert "x.view(7)" in refusal["text"]
    (crash,) = records["segfault"]["problems"]
    assert crash["headline"] == "ended by SIGSEGV, in stage `make`"
    assert "in segfault" in crash["text"]
    assert "Current thread 0x… " in crash["text"]
    (raised,) = records["raises"]["problems"]
    assert raised["name"] == "RuntimeError"
    assert raised["at"].endswith("models.py:24")
    assert "0x…" in raised["headline"]
    good = records["good"]
    assert good["sizes"]["weight bytes"] == 4 * (4 * 3 + 3)
    assert good["sizes"]["file bytes"] > 500
    assert [*good["measured"]["seconds"]] == ["make", "capture", "verify", "lower", "save"]
    assert (folder / "report.json").stat().st_size < 100_000


def test_forms_of_the_report(hostile):
    """JUnit that parses, though programs print what is no XML; SARIF; a page that is escaped."""
    found, folder = hostile
    suite = ET.parse(folder / "report.junit.xml").getroot()
    assert suite.get("tests") == str(len(found.results))
    kinds = {case.get("name"): [each.tag for each in case] for case in suite}
    assert kinds["good"] == []
    assert kinds["refused"] == ["failure"]
    assert kinds["segfault"] == kinds["raises"] == ["error"]
    (run,) = json.loads((folder / "report.sarif").read_text(encoding="utf-8"))["runs"]
    results = {each["properties"]["model"]: each for each in run["results"]}
    where = results["refused"]["locations"][0]["physicalLocation"]
    assert where["region"]["startLine"] == 15
    rules = [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in run["results"])
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<section") == len(found.results) - found.counts["passed"]
    assert "&lt;here&gt;" in page
    assert "<here>" not in page


def test_nothing_is_done_twice(folder):
    """Only what has no whole result, or another source, options or specification."""
    listed(folder, "good", "refused")
    first = Watched()
    monograph.sweep("list.toml", processes=1, watch=first)
    undisturbed = report()
    assert first.started == ["good", "refused"]

    second = Watched()
    assert monograph.sweep("list.toml", processes=1, watch=second).as_dict()["counts"]
    assert second.started == []
    assert second.ended == first.ended == {"good": "passed", "refused": "refused"}
    assert report() == undisturbed

    cut = [*Path("sweep/results").glob("*.json")]
    for each in cut:
        text = each.read_text(encoding="utf-8")
        if '"verdict": "refused"' in text:
            each.write_text(text[: len(text) // 2], encoding="utf-8")
    Path("sweep/results/left.json.part").write_text("{", encoding="utf-8")
    third = Watched()
    monograph.sweep("list.toml", processes=1, watch=third)
    assert third.started == ["refused"]
    assert report() == undisturbed
    assert sorted(Path("sweep/results").iterdir()) == sorted(cut)

    fourth = Watched()
    monograph.sweep("list.toml", processes=1, samples=5, watch=fourth)
    assert fourth.started == ["good", "refused"]


def test_regressions_come_first(folder):
    """A model that was right, and is not; what was refused may be, if that is asked for."""
    listed(folder, "good", "refused")
    assert monograph.sweep("list.toml").changes["regressed"] == []
    before = report()
    broken = MODELS.replace("return self.layer(x).relu()", "return self.layer(x).relu().view(7)")
    Path("models.py").write_text(broken, encoding="utf-8")
    (folder / "list.toml").write_text(
        LIST.format('good = "models.py:good"\nnew = "models.py:refused"'), encoding="utf-8"
    )
    found = monograph.sweep("list.toml")
    assert found.changes == {
        "regressed": ["good"],
        "fixed": [],
        "changed": [],
        "new": ["new"],
        "gone": ["refused"],
    }
    assert found.groups == {"view-impossible": ["good", "new"]}
    page = Path("sweep/report.html").read_text(encoding="utf-8")
    assert page.index("<td>regressed</td>") < page.index("<td>new</td>")

    again = monograph.sweep("list.toml")
    assert again.changes == found.changes, "a sweep that is asked again says the same"
    assert json.loads(Path("sweep", PREVIOUS).read_text())["sweep"] == before["sweep"]

    Path("models.py").write_text(MODELS, encoding="utf-8")
    assert monograph.sweep("list.toml").changes["fixed"] == ["good"]


def test_exit_statuses(folder):
    """0 where all passed, or none regressed; 1 where not; 2 where something is not there."""
    listed(folder, "good", "refused")
    first = command("list.toml", "--processes", "1")
    assert first.communicate()[0].splitlines()[0] == "view-impossible: refused"
    assert first.returncode == 1
    second = command("list.toml", "--only-regressions", "--against", "sweep/report.json", "--json")
    assert json.loads(second.communicate()[0])["counts"] == {"passed": 1, "refused": 1}
    assert second.returncode == 0
    (result, *_) = Path("sweep/results").glob("*.json")
    fourth = command("list.toml", "--against", str(result))
    assert fourth.communicate()[0] == f"{result} is no report of a sweep\n"
    assert fourth.returncode == 2
    third = command("none.toml")
    assert third.communicate()[0] == "there is no none.toml\n"
    assert third.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_ended_loses_nothing(folder, number):
    """What was done is on disk, its processes end, and the sweep that goes on says the same."""
    listed(folder, "good", "refused", "waits")
    slow = "\n\ndef waits():\n    while not os.path.exists('go'):\n        time.sleep(0.05)\n"
    with Path("models.py").open("a", encoding="utf-8") as file:
        file.write(f"{slow}    return good()\n")
    driver = command("list.toml", "--processes", "1")
    wait_for(lambda: len([*Path("sweep/results").glob("*.json")]) == 2)
    (worker,) = children(driver.pid)
    (model,) = wait_for(lambda: children(worker))
    driver.send_signal(number)
    said = driver.communicate()[0]
    wait_until_gone(worker)
    wait_until_gone(model)
    if number == signal.SIGINT:
        assert driver.returncode == 130, said
        assert said.startswith("interrupted; what is done is in sweep")
    assert not Path("sweep/report.json").exists()

    done = written()
    Path("go").touch()
    assert finished("list.toml", "--processes", "1") == 1, "one is refused"
    assert {name: when for name, when in written().items() if name in done} == done
    assert len(written()) == 3
    resumed = report()
    finished("list.toml", "-o", "other", "--processes", "1")
    assert resumed == report("other")


def test_a_worker_that_is_killed_is_replaced(folder):
    """The model that it had is asked of another one."""
    listed(folder, "good", "refused")
    before, killed = children(os.getpid()), []  # other tests may have started some

    def watch(task, told):
        if told.get("at") == "capture" and not killed:
            killed.extend(each for each in children(os.getpid()) if each not in before)
            os.kill(killed[0], signal.SIGKILL)

    found = monograph.sweep("list.toml", processes=1, watch=watch)
    assert len(killed) == 1
    assert found.counts == {"passed": 1, "refused": 1}


def test_two_sweeps_in_one_folder(folder):
    """The second one is refused; the first one goes on."""
    store = ResultStore(folder / "sweep")
    second = command("none.toml")
    assert second.communicate()[0] == "another sweep is running in sweep\n"
    assert second.returncode == 2
    store.close()
    ResultStore(folder / "sweep").close()


@pytest.mark.slow
def test_kinds_of_models(folder):
    """Tables of factories, scripts, files with and without evidence, transformers."""
    (folder / "all").mkdir()
    model, x = torch.nn.Linear(4, 3).eval(), torch.randn(2, 4)
    program = monograph.export(model, (x,))
    monograph.save(program, "all/bare.pt2")
    evidence = monograph.verify(program, model, samples=3).extra_files
    monograph.save(program, "all/held.pt2", extra_files=evidence)
    (folder / "all" / "table.py").write_text(
        f"{MODELS}\nmodels = {{'one': good, 'two': refused}}\n", encoding="utf-8"
    )
    (folder / "all" / "script.py").write_text(
        "import torch\nfrom monograph import export\n"
        "if __name__ == '__main__':\n"
        "    export(torch.nn.ReLU(), (torch.ones(3),))\n    raise RuntimeError('too far')\n",
        encoding="utf-8",
    )
    (folder / "all" / "helper.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "all" / "more.toml").write_text(
        "[models.bert]\ntransformers = 'BertModel'\n[models.bert.config]\n"
        "num_hidden_layers = 1\nhidden_size = 32\nnum_attention_heads = 2\n",
        encoding="utf-8",
    )
    found = monograph.sweep("all", processes=2, samples=3)
    assert {each["name"]: each["verdict"] for each in found.results} == {
        "bare": "passed",
        "held": "passed",
        "more/bert": "passed",
        "script": "passed",
        "table/one": "passed",
        "table/two": "refused",
    }
    compared = {each["name"]: each["sizes"].get("calls compared") for each in found.results}
    assert compared["bare"] is None
    assert compared["held"] == 3


@pytest.mark.slow
def test_beside_torch_export_and_converted(folder):
    """The peer's verdicts stand beside ours, and do not count; programs are kept if asked for."""
    listed(folder, "good")
    found = monograph.sweep(
        "list.toml",
        exporter="torch.export",
        convert=["python", "onnx"],
        keep=True,
        dynamic="x: n, 4",
    )
    assert found
    (peer,) = found.peers
    assert (peer["exporter"], peer["verdict"]) == ("torch.export", "passed")
    (ours,) = found.results
    assert ours["sizes"]["calls compared"] == 4
    kept = Path("sweep/programs", ours["key"])
    assert sorted(each.name for each in kept.iterdir())[:2] == ["model.onnx", "model.pt2"]
    program = monograph.load(kept / "model.pt2").module()
    assert program(torch.ones(5, 4)).shape == (5, 3)
    assert (kept / "model.python").read_text(encoding="utf-8").count("def forward")
    theirs = torch.export.load(Path("sweep/programs", peer["key"], "model.pt2")).module()
    assert theirs(torch.ones(5, 4)).shape == (5, 3)
    assert "torch.export" in Path("sweep/report.html").read_text(encoding="utf-8")


def test_a_wrong_program_is_different(folder):
    """Files whose evidence is another model's: silently wrong, and worse than a refusal."""
    model, x = torch.nn.Linear(4, 3).eval(), torch.randn(2, 4)
    program = monograph.export(model, (x,))
    other = monograph.verify(program, model, samples=3).extra_files
    with torch.no_grad():
        program.state_dict["weight"].mul_(2)
    monograph.save(program, "wrong.pt2", extra_files=other)
    found = monograph.sweep({"wrong": {"file": "wrong.pt2"}}, processes=1)
    assert found.counts == {"different": 1}
    assert found.groups == {"different": ["wrong"]}


def test_the_live_table(folder):
    """In a terminal it shows stages, verdicts and names that look like markup, and goes on."""
    main, terminal = os.openpty()
    (folder / "list.toml").write_text(
        LIST.format("'a [/red] b' = 'models.py:good'\nrefused = 'models.py:refused'"),
        encoding="utf-8",
    )
    driver = subprocess.Popen(
        [sys.executable, "-m", "monograph", "sweep", "list.toml", "--processes", "1"],
        env={**environment(), "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(main, 10_000)
        except OSError:  # the other end was closed
            break
    os.close(main)
    said = driver.communicate()[0]
    assert driver.returncode == 1
    assert said.startswith("view-impossible: refused")
    assert b"a [/red] b" in shown
    assert b"make ..." in shown or b"start ..." in shown
    assert b"view-impossible" in shown


def test_no_table_without_a_terminal(capsys):
    """Nothing is drawn, and nothing is said."""
    with live_table() as watch:
        watch({"name": "a"}, {"at": "make"})
    assert capsys.readouterr() == ("", "")
