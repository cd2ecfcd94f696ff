"""Archives written and read member by member, by us and by torch."""

import io

import pytest
import torch
from torch.export.pt2_archive import PT2ArchiveReader as TorchReader
from torch.export.pt2_archive import PT2ArchiveWriter as TorchWriter

import monograph
from monograph.pt2_archive import PT2ArchiveReader, PT2ArchiveWriter, is_pt2_package


@pytest.mark.parametrize("reader", [PT2ArchiveReader, TorchReader])
@pytest.mark.parametrize("writer", [PT2ArchiveWriter, TorchWriter])
@pytest.mark.parametrize("is_file", [False, True])
def test_members_come_back(writer, reader, is_file, tmp_path):
    """Whoever writes, and whoever reads."""
    (tmp_path / "folder" / "in").mkdir(parents=True)
    (tmp_path / "folder" / "in" / "b.txt").write_text("b")
    place = str(tmp_path / "some.pt2") if is_file else io.BytesIO()
    with writer(place) as archive:
        archive.write_string("extra/a", "text")
        archive.write_bytes("extra/b", b"\x00\x01")
        archive.write_folder("extra/c", str(tmp_path / "folder"))
        assert archive.has_record("extra/a")
        assert archive.count_prefix("extra/") == 3
    given = place if is_file else io.BytesIO(place.getvalue())
    with reader(given) as archive:
        assert archive.read_string("extra/a") == "text"
        assert archive.read_bytes("extra/b") == b"\x00\x01"
        assert archive.read_string("extra/c/in/b.txt") == "b"
        assert archive.archive_version() == 0
        assert {"extra/a", "extra/b", "archive_format"} <= {*archive.get_file_names()}
    assert is_pt2_package(place if is_file else place.getvalue())


def test_what_is_none_is_refused(tmp_path):
    """Another file, no file, a member that is not there, and one that is there already."""
    assert not is_pt2_package(b"nothing")
    assert not is_pt2_package(str(tmp_path / "nothing"))
    file = io.BytesIO()
    with PT2ArchiveWriter(file) as archive:
        archive.write_string("a", "")
        with pytest.raises(ValueError, match="already"):
            archive.write_string("a", "")
    with pytest.raises(monograph.ArchiveError):
        PT2ArchiveReader(file).read_bytes("b")
    file = io.BytesIO()
    with PT2ArchiveWriter(file) as archive:
        archive.write_string("archive_format", "other")
    assert not is_pt2_package(file.getvalue())


class Model(torch.nn.Module):
    """A sum."""

    def forward(self, x):
        return x + 1


def test_versions_of_operators_are_written_and_compared():
    """Namespaces of the caller's are kept; that of aten is what it is."""
    program = monograph.export(Model(), (torch.ones(2),))
    file = io.BytesIO()
    monograph.save(program, file, opset_version={"mine": 3}, pickle_protocol=5)
    expected = {"aten": 10, "mine": 3}
    assert monograph.load(file, expected_opset_version=expected).module()(torch.ones(2)).sum() == 4
    stock = torch.export.load(io.BytesIO(file.getvalue()), expected_opset_version=expected)
    assert stock.module()(torch.ones(2)).sum() == 4
    for wrong in ({"aten": 11}, {"mine": 4}, {"other": 1}):
        with pytest.raises(monograph.ArchiveError, match="operators"):
            monograph.load(file, expected_opset_version=wrong)
    with pytest.raises(monograph.ArchiveError, match="not 11"):
        monograph.save(program, io.BytesIO(), opset_version={"aten": 11})
    with pytest.raises(monograph.ArchiveError, match="protocol 2"):
        monograph.save(program, io.BytesIO(), pickle_protocol=0)


def test_a_file_that_was_just_written_is_read_from_its_start():
    """And one that stands elsewhere from there, as before."""
    program = monograph.export(Model(), (torch.ones(2),))
    file = io.BytesIO()
    monograph.save(program, file)
    assert monograph.load(file).module()(torch.ones(2)).sum() == 4
    beside = io.BytesIO(b"before" + file.getvalue())
    beside.seek(6)
    assert monograph.load(beside).module()(torch.ones(2)).sum() == 4
    with pytest.raises(monograph.ArchiveError):
        monograph.load(io.BytesIO())
