"""The names of `torch.export.pt2_archive`, for code that changes only its import."""

from monograph.archive.members import PT2ArchiveReader, PT2ArchiveWriter, is_pt2_package

__all__ = ["PT2ArchiveReader", "PT2ArchiveWriter", "is_pt2_package"]
