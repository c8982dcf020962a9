"""What a cluster needs to run hekla: definitions, permissions, the scheduler itself.

manifests    the files, put together and fitted to what is asked for
apply        bringing them to an API server

The files stand in the package, so that `hekla install` has them wherever it runs; the kustomizations in
the folder `deploy` of the repository refer to them.
"""

from __future__ import annotations

from hekla.server.deploy.manifests import Installation, as_yaml

__all__ = ["Installation", "as_yaml"]
