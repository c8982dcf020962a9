"""Load: how busy nodes really are, read from a source that measures it.

Reading happens outside the core, before a cycle; sessions only see the numbers.
"""

from hekla.engine.model.node import NodeLoad
from hekla.scheduler.load.read import LoadCache, from_annotations, from_file, read_load

__all__ = ["LoadCache", "NodeLoad", "from_annotations", "from_file", "read_load"]
