"""The gauges: how busy nodes really are, read where somebody measures it.

Reading happens outside the core, before a cycle; sessions only see the numbers.
"""

from hekla.metrics.read import Meter, read_load
from hekla.metrics.sources import from_annotations, from_file
from hekla.model.load import NodeLoad

__all__ = ["Meter", "NodeLoad", "from_annotations", "from_file", "read_load"]
