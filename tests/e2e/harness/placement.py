"""May a pod be on a node at all? Selector, required node affinity, taints, and nodes closed to pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.kinds import Object

CLOSED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def objections(pod: Object, node: Object) -> Iterator[str]:
    labels: Mapping[str, str] = node["metadata"].get("labels", {})
    for key, value in pod["spec"].get("nodeSelector", {}).items():
        if labels.get(key) != value:
            yield f"its selector asks for {key}={value}"
    if not _is_wanted(pod, node):
        yield "its required node affinity does not match"
    for taint in _taints(node):
        if not any(_tolerates(toleration, taint) for toleration in pod["spec"].get("tolerations", ())):
            yield f"it does not tolerate {taint['key']}={taint.get('value', '')}:{taint['effect']}"


def _taints(node: Object) -> Iterator[Object]:
    spec = node.get("spec", {})
    if spec.get("unschedulable"):
        yield CLOSED
    yield from (taint for taint in spec.get("taints", ()) if taint["effect"] in ("NoSchedule", "NoExecute"))


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def _is_wanted(pod: Object, node: Object) -> bool:
    """One term that matches is enough; an empty term matches nothing."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_matches(term, node) for term in required.get("nodeSelectorTerms", ()))


def _matches(term: Object, node: Object) -> bool:
    labels: Mapping[str, str] = node["metadata"].get("labels", {})
    fields = {"metadata.name": node["metadata"]["name"]}
    expressions = [(rule, labels) for rule in term.get("matchExpressions", ())]
    expressions += [(rule, fields) for rule in term.get("matchFields", ())]
    return bool(expressions) and all(_holds(rule, values) for rule, values in expressions)


def _holds(rule: Object, values: Mapping[str, str]) -> bool:
    value, wanted = values.get(rule["key"]), rule.get("values", [])
    match rule["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(wanted[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(wanted[0])
    raise ValueError(f'no operator "{rule["operator"]}"')
