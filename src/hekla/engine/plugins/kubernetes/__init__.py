"""What Kubernetes' own scheduler knows of nodes and pods, for plugins that filter and rank as it does."""
