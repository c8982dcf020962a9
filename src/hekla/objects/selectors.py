"""Does a label selector match? Kubernetes' rules."""

from __future__ import annotations

from collections.abc import Mapping

from hekla.objects.meta import LabelRequirement, LabelSelector


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """No selector matches nothing; an empty one matches everything."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        requirement_holds(requirement, labels) for requirement in selector.match_expressions
    )


def requirement_holds(requirement: LabelRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def is_empty(selector: LabelSelector | None) -> bool:
    return selector is None or not (selector.match_labels or selector.match_expressions)
