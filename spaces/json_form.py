"""Spaces read back from JSON."""

from __future__ import annotations

from ..errors import SpaceError
from .cell import Cell
from .choice import Choice
from .family import Family
from .float_domain import Float
from .int_domain import Int
from .listed_domains import Categorical, Constant, Ordinal
from .naming import did_you_mean
from .node import Node
from .repeat import Repeat
from .rules import Constraint, Rule
from .space import Space
from .values import Json, decode_value, shown

_TYPES = ("space", "choice", "repeat", "float", "int", "ordinal", "categorical", "constant", "cell")


def node_from_json(obj: Json) -> Node:
    """The node that `Node.to_json` wrote.

    Raises:
        SpaceError: it is not one.
    """
    if not isinstance(obj, dict) or "type" not in obj:
        raise SpaceError(f"{shown(obj)} is not a node of a space.", "Give what Space.to_json() returned.")
    try:
        return _read(obj)
    except (KeyError, TypeError, AttributeError) as error:
        raise SpaceError(
            f"The {obj['type']} node {shown(obj)} is damaged ({type(error).__name__}: {error}).",
            "Give what Space.to_json() returned.",
        ) from error


def space_from_json(obj: Json) -> Space:
    """The space that `Space.to_json` wrote."""
    node = node_from_json(obj)
    if not isinstance(node, Space):
        raise SpaceError(f"{shown(obj)} is a {obj['type']}, not a space.", "Give what Space.to_json() returned.")
    return node


def _read(obj: dict[str, Json]) -> Node:
    fields = {name: value for name, value in obj.items() if name != "type"}
    match obj["type"]:
        case "space":
            nodes = {name: node_from_json(node) for name, node in obj["nodes"].items()}
            rules = [_rule(rule) for rule in obj.get("rules", ())]
            if "architecture" in obj:
                return Space.of_architecture(Family.from_json(obj["architecture"]), rules, nodes)
            return Space(rules=rules, **nodes)
        case "cell":
            return Cell.from_json(obj)
        case "choice":
            options = {tag: _option(option) for tag, option in obj["options"].items()}
            return Choice(**options, **{name: obj[name] for name in ("default", "prior") if name in obj})
        case "repeat":
            return Repeat(node_from_json(obj["node"]), obj["min"], obj["max"])
        case "float":
            return Float(**fields)
        case "int":
            return Int(**fields)
        case "ordinal":
            return Ordinal.from_json(obj)
        case "categorical":
            return Categorical.from_json(obj)
        case "constant":
            return Constant(decode_value(obj["value"]))
    raise SpaceError(
        f"{shown(obj['type'])} is not a type of node.{did_you_mean(obj['type'], _TYPES)}",
        "The space was written by a newer version, or is damaged.",
    )


def _option(obj: Json) -> Space | None:
    return None if obj is None else space_from_json(obj)


def _rule(obj: dict[str, Json]) -> Rule | Constraint:
    return Constraint(obj["entry_point"]) if obj["kind"] == "constraint" else Rule.from_json(obj)
