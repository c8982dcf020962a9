"""The dictionary: jobs, tasks, queues, nodes and resources, as the scheduler understands them."""
