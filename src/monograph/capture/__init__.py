"""User code becomes a graph: run once on abstract tensors, every operator call recorded."""

from monograph.capture.declarations import check_declarations
from monograph.capture.running import Capture, Request, capture

__all__ = ["Capture", "Request", "capture", "check_declarations"]
