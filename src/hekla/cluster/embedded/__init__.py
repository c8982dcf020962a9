"""The embedded cluster: nodes, pods, Jobs and queues in one process, under any clock."""

from hekla.cluster.embedded.cluster import EmbeddedCluster
from hekla.cluster.embedded.options import Options
from hekla.cluster.embedded.timeline import Happening
from hekla.objects.keys import ARRIVES_AT, EXIT_CODE, RUN_SECONDS

__all__ = ["ARRIVES_AT", "EXIT_CODE", "RUN_SECONDS", "EmbeddedCluster", "Happening", "Options"]
