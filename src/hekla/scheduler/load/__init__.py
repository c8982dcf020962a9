"""The gauges: how busy nodes really are, read where somebody measures it.

Reading happens outside the core, before a cycle; sessions only see the numbers.
"""

from hekla.engine.model.node import NodeLoad
from hekla.scheduler.load.read import Meter, read_load
from hekla.scheduler.load.sources import from_annotations, from_file

__all__ = ["Meter", "NodeLoad", "from_annotations", "from_file", "read_load"]
