"""A client of the Kubernetes API server: lists, watches and writes of the kinds that hekla knows.

access       the server's address and the credentials: kubeconfig, in-cluster files, exec plugins
client       requests over HTTP; answers that are refusals become `Refused`
resources    where the objects of each kind stand
wire         bytes as typed manifests; what does not fit is told, not raised
reading      all objects of some kinds, listed once
reflector    all objects of a kind, kept up to date
lease        which of several replicas leads
"""

from __future__ import annotations

from hekla.cluster.kubernetes.api.access import Access, find_access
from hekla.cluster.kubernetes.api.client import Client, Refused, Unreachable
from hekla.cluster.kubernetes.api.resources import RESOURCES, Resource

__all__ = ["RESOURCES", "Access", "Client", "Refused", "Resource", "Unreachable", "find_access"]
