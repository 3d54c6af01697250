"""A cell: a small graph whose edges are chosen among operations, as in NAS-Bench-201."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import SpaceError
from .listed_domains import Categorical
from .naming import checked_name
from .operations import EdgeOperation, Identity, Zero, operation_from_json, operation_to_json
from .space import Space, Spacelike
from .values import Json, Value, shown

_NOTHING = "#"


class Cell(Space):
    """A complete directed acyclic graph; every edge is one decision, `edge_SOURCE_TARGET`.

    Node 0 is the input, the last node the output; a node is the sum of what its incoming edges bring. Isomorphic
    cells have the same `Configuration.key()` (see `canonical_cell`).

    Args:
        nodes: how many nodes, >= 2.
        ops: name → operation.

    >>> from shoal.spaces.operations import ConvBN, Identity, Zero
    >>> Cell(nodes=3, ops={"none": Zero(), "skip": Identity(), "conv": ConvBN(3)}).size()
    27

    Raises:
        SpaceError: too few nodes, no operations, or something that is not an operation.
    """

    def __init__(self, *, nodes: int, ops: Mapping[str, EdgeOperation]) -> None:
        if not isinstance(nodes, int) or nodes < 2:
            raise SpaceError(f"Cell(nodes={shown(nodes)}): needs at least an input and an output.", "Give nodes >= 2.")
        if not ops:
            raise SpaceError("Cell(ops={}): no operations.", 'Name some: ops={"skip": Identity(), "conv3": ConvBN(3)}.')
        for name, operation in ops.items():
            checked_name(name, "operation")
            if not isinstance(operation, EdgeOperation):
                raise SpaceError(
                    f"Cell: operation {name!r} is {shown(operation)}.",
                    "Use Zero(), Identity(), ConvBN(3), AvgPool(3), ...",
                )
        self.graph_nodes = nodes
        self.ops = dict(ops)
        self.edges = tuple((source, target) for target in range(1, nodes) for source in range(target))
        choice = Categorical(list(ops))
        edges: dict[str, Spacelike] = {f"edge_{source}_{target}": choice for source, target in self.edges}
        super().__init__(rules=(), **edges)

    def operations(self, config: Mapping[str, Value]) -> dict[tuple[int, int], EdgeOperation]:
        """(source, target) → the operation that a configuration of this cell puts there."""
        return {(s, t): self.ops[config[f"edge_{s}_{t}"]] for s, t in self.edges}

    def canonical(self, value: Value) -> Json:
        return {"cell": canonical_cell(self.graph_nodes, self.operations(value))}

    def to_json(self) -> dict[str, Json]:
        ops = {name: operation_to_json(operation) for name, operation in self.ops.items()}
        return {"type": "cell", "nodes": self.graph_nodes, "ops": ops}

    @classmethod
    def from_json(cls, obj: Json) -> Cell:
        """The cell that `to_json` wrote."""
        ops = {name: operation_from_json(operation) for name, operation in obj["ops"].items()}
        return cls(nodes=obj["nodes"], ops=ops)

    def __repr__(self) -> str:
        return f"Cell(nodes={self.graph_nodes}, ops={self.ops!r})"


def canonical_cell(nodes: int, operations: Mapping[tuple[int, int], EdgeOperation]) -> str:
    """The output of a cell as a sum of nested operations; equal text means the same trial.

    The rule of the benchmark's own strings (Dong & Yang, arXiv 2001.00326, section 2.3): identities are inlined,
    summands sorted, a missing edge is "#", and an operation on "#" is "#". That makes 6,466 classes of the 15,625
    cells of NAS-Bench-201, exactly the published ones. It is a convention rather than an equality: a convolution of
    nothing still adds the bias of its batch norm, which is neglected, and "x+#" is kept apart from "x".
    """
    sums = ["x"]
    for target in range(1, nodes):
        terms = []
        for source in range(target):
            operation, inside = operations[source, target], sums[source]
            if isinstance(operation, Zero) or inside == _NOTHING:
                terms.append(_NOTHING)
            elif isinstance(operation, Identity):
                terms.append(inside)
            else:
                terms.append(f"({inside})@{operation.kind}{operation.kernel}")
        sums.append("+".join(sorted(terms)))
    return sums[-1]
