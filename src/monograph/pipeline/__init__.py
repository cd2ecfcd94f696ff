"""Pipeline parallelism: a program as stages that run one after the other, or in processes.

Each stage is a program with a contract of its own; what goes between them are named values.
"""

from monograph.pipeline.cuts import cuts_of
from monograph.pipeline.splitting import Edge, Pipeline, split

__all__ = ["Edge", "Pipeline", "cuts_of", "split"]
