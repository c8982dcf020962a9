"""One object of every kind of Volcano with every field that there is."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

TIME = "2026-01-31T12:00:00Z"
AMOUNTS = {"cpu": "1000m", "memory": "1.5Gi", "nvidia.com/gpu": 8, "count/pods": "1e1", "requests.cpu": "+4"}
TOPOLOGY = {"mode": "soft", "highestTierAllowed": 2, "highestTierName": "rack"}
SELECTOR = {
    "matchLabels": {"a": "b"},
    "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}],
}
POLICIES = [
    {
        "action": "RestartJob",
        "event": "PodFailed",
        "events": ["PodEvicted", "*"],
        "exitCode": -1,
        "timeout": "1h30m",
    }
]
POD_TEMPLATE = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "someday": "new"},
    "spec": {
        "restartPolicy": "OnFailure",
        "someday": {"new": [1, 2]},
        "containers": [{"name": "main", "image": "busybox", "env": [{"name": "A"}, {"name": "A"}]}],
    },
}

POD_GROUP: Object = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "spec": {
        "minMember": 3,
        "minTaskMember": {"worker": -1, "master": 1},
        "minResources": AMOUNTS,
        "queue": "research.team-a",
        "priorityClassName": "Any Text",
        "networkTopology": TOPOLOGY,
        "subGroupPolicy": [
            {
                "name": "shards",
                "labelSelector": SELECTOR,
                "matchLabelKeys": ["volcano.sh/partition-id"],
                "subGroupSize": 2,
                "minSubGroups": 1,
                "networkTopology": TOPOLOGY,
            }
        ],
    },
    "status": {
        "phase": "Inqueue",
        "conditions": [
            {
                "type": "Unschedulable",
                "status": "True",
                "transitionID": "4f1c",
                "lastTransitionTime": TIME,
                "reason": "NotEnoughResources",
                "message": "3/3 tasks in gang unschedulable",
            }
        ],
        "running": 1,
        "succeeded": 2,
        "failed": 3,
    },
}
NODE_GROUPS = {
    "requiredDuringSchedulingIgnoredDuringExecution": ["fast"],
    "preferredDuringSchedulingIgnoredDuringExecution": ["near", "new"],
}
QUEUE: Object = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "spec": {
        "weight": 7,
        "capability": AMOUNTS,
        "deserved": AMOUNTS,
        "guarantee": {"resource": AMOUNTS},
        "reclaimable": False,
        "parent": "root",
        "priority": 5,
        "dequeueStrategy": "fifo",
        "type": "Any Text",
        "affinity": {"nodeGroupAffinity": NODE_GROUPS, "nodeGroupAntiAffinity": NODE_GROUPS},
        "extendClusters": [{"name": "other", "weight": -1, "capacity": AMOUNTS}],
    },
    "status": {
        "state": "Closing",
        "allocated": AMOUNTS,
        "pending": 1,
        "running": 2,
        "unknown": 3,
        "inqueue": 4,
        "completed": 5,
        "reservation": {"nodes": ["n1"], "resource": AMOUNTS},
    },
}
JOB: Object = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "spec": {
        "schedulerName": "volcano",
        "minAvailable": 3,
        "minSuccess": 1,
        "maxRetry": 5,
        "queue": "research",
        "priorityClassName": "high",
        "ttlSecondsAfterFinished": 60,
        "runningEstimate": "about an hour",
        "plugins": {"svc": ["--disable-network-policy=true"], "env": []},
        "networkTopology": TOPOLOGY,
        "policies": POLICIES,
        "volumes": [
            {
                "mountPath": "/data",
                "volumeClaimName": "claim",
                "volumeClaim": {
                    "accessModes": ["ReadWriteOnce"],
                    "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "Snapshot", "name": "s"},
                    "dataSourceRef": {"apiGroup": "example.com", "kind": "K", "name": "r", "namespace": "n"},
                    "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": 2}},
                    "selector": SELECTOR,
                    "storageClassName": "fast",
                    "volumeAttributesClassName": "gold",
                    "volumeMode": "Filesystem",
                    "volumeName": "v",
                },
            }
        ],
        "tasks": [
            {
                "name": "worker-0",
                "replicas": 4,
                "minAvailable": 2,
                "maxRetry": 1,
                "topologyPolicy": "best-effort",
                "dependsOn": {"name": ["master"], "iteration": "any"},
                "partitionPolicy": {
                    "totalPartitions": 2,
                    "partitionSize": 2,
                    "minPartitions": 1,
                    "networkTopology": TOPOLOGY,
                },
                "policies": POLICIES,
                "template": POD_TEMPLATE,
            }
        ],
    },
    "status": {
        "state": {"phase": "Running", "reason": "r", "message": "m", "lastTransitionTime": TIME},
        "minAvailable": 3,
        "pending": 1,
        "running": 2,
        "succeeded": 3,
        "failed": 4,
        "terminating": 5,
        "unknown": 6,
        "taskStatusCount": {"worker-0": {"phase": {"Running": 2}}},
        "version": 7,
        "retryCount": 8,
        "runningDuration": "1m2.5s",
        "controlledResources": {"plugin-svc": "svc"},
        "conditions": [{"status": "Pending", "lastTransitionTime": TIME}, {"status": "Running"}],
    },
}
COMMAND: Object = {
    "apiVersion": "bus.volcano.sh/v1alpha1",
    "kind": "Command",
    "action": "AbortJob",
    "target": {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "train",
        "uid": "1-2-3",
        "controller": True,
        "blockOwnerDeletion": True,
    },
    "reason": "r",
    "message": "m",
}
HYPER_NODE: Object = {
    "apiVersion": "topology.volcano.sh/v1alpha1",
    "kind": "HyperNode",
    "spec": {
        "tier": 1,
        "tierName": "rack",
        "members": [
            {"type": "Node", "selector": {"exactMatch": {"name": "node-1.example"}}},
            {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "^rack-[0-9]+$"}}},
            {"type": "Node", "selector": {"labelMatch": SELECTOR}},
            {"type": "Node"},
        ],
    },
    "status": {
        "nodeCount": 8,
        "conditions": [
            {
                "type": "example.com/Ready",
                "status": "Unknown",
                "observedGeneration": 1,
                "lastTransitionTime": TIME,
                "reason": "NotSeen",
                "message": "",
            }
        ],
    },
}
NODE_SHARD: Object = {
    "apiVersion": "shard.volcano.sh/v1alpha1",
    "kind": "NodeShard",
    "spec": {"nodesDesired": ["n1", "n2"]},
    "status": {
        "nodesInUse": ["n1"],
        "nodesToAdd": ["n2"],
        "nodesToRemove": ["n3"],
        "lastUpdateTime": TIME,
    },
}
NUMA_TOPOLOGY: Object = {
    "apiVersion": "nodeinfo.volcano.sh/v1alpha1",
    "kind": "Numatopology",
    "spec": {
        "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "restricted"},
        "resReserved": {"cpu": "500m"},
        "numares": {"cpu": {"allocatable": "0,2-4", "capacity": -4}},
        "cpuDetail": {"0": {"numa": 0, "socket": 1, "core": 2}},
        "podAllocations": [
            {
                "uid": "1-2-3",
                "name": "p",
                "namespace": "default",
                "containerAllocations": [{"name": "main", "allocations": {"cpu": "0,2", "memory": "1Gi"}}],
            }
        ],
    },
}
EVERYTHING: dict[str, Object] = {
    thing["kind"]: thing for thing in (POD_GROUP, QUEUE, JOB, COMMAND, HYPER_NODE, NODE_SHARD, NUMA_TOPOLOGY)
}
