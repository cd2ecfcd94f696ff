"""A process without transformers generates from a file; a file that was changed is refused."""

import io
import json
import subprocess
import sys
import zipfile

import pytest
import torch

from monograph import ArchiveError, generation
from tests.generation.test_generate import causal, llama, prompt

pytestmark = pytest.mark.filterwarnings("ignore")

READER = """
import sys
for name in ("transformers", "onnxscript", "safetensors"):
    sys.modules[name] = None
import torch
from monograph import generation
program = generation.load(sys.argv[1])
given = torch.load(sys.argv[2])
tokens = program.generate(given["ids"], given["mask"], max_new_tokens=16)
assert torch.equal(tokens, given["expected"]), tokens
"""


@pytest.mark.parametrize(
    ("name", "kind"),
    [("llama", "static"), pytest.param("gemma2", "dynamic", marks=pytest.mark.slow)],
)
def test_a_fresh_process_generates(name, kind, tmp_path):
    """Importing transformers fails there."""
    model = causal(name)
    generation.export(model, max_batch=2, max_length=40, cache=kind).save(tmp_path / "m.pt2")
    ids, mask = prompt(2, 9, 3)
    expected = model.generate(ids, attention_mask=mask, max_new_tokens=16)
    torch.save({"ids": ids, "mask": mask, "expected": expected}, tmp_path / "given.pt")
    command = [sys.executable, "-c", READER, tmp_path / "m.pt2", tmp_path / "given.pt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


CHANGES = [
    {"format": 9},
    {"max_batch": "many"},
    {"vocab_size": -1},
    {"initial": [[7, ["x"]]]},
    {"initial": [["torch.load", [1]]]},
    {"eos_token_ids": None},
    {"has_encoder": 1},
    {"do_sample": 1},
    {"temperature": "hot"},
    {"top_k": 2.5},
    {"top_p": None},
    {"suppress_tokens": ["5"]},
    {"min_length": -1},
    {"num_beams": 0},
    {"early_stopping": "soon"},
    {"unknown": 1},
]


def test_records_that_were_changed():
    """Nothing of them is believed."""
    _, program = llama(cache="static")
    file = io.BytesIO()
    program.save(file, verify=False)
    with zipfile.ZipFile(file) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    (name,) = [each for each in members if each.endswith("generation.json")]
    record = json.loads(members[name])
    for change in CHANGES:
        other = io.BytesIO()
        with zipfile.ZipFile(other, "w") as archive:
            for each, content in members.items():
                changed = json.dumps({**record, **change}) if each == name else content
                archive.writestr(each, changed)
        other.seek(0)
        with pytest.raises(ArchiveError):
            generation.load(other)
