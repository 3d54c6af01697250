"""The questions of a define-by-run trial, as they come over the wire."""

from __future__ import annotations

from ...errors import SpaceError
from ...spaces import Domain, node_from_json
from ..spec import Json


def domain_from_json(domain: Json) -> Domain:
    """The leaf domain that `domain.to_json()` wrote.

    Raises:
        SpaceError: it is not a leaf domain.
    """
    node = node_from_json(domain)
    if not isinstance(node, Domain):
        raise SpaceError(f"{domain!r} is not something that a trial can ask for.", "Ask for one value at a time.")
    return node
