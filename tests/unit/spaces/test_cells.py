"""Cells: a graph whose edges are decisions; isomorphic cells are one trial."""

import json

import pytest

from shoal.errors import SpaceError
from shoal.spaces import Cell, Float, Space
from shoal.spaces.cell import canonical_cell
from shoal.spaces.operations import AvgPool, ConvBN, EdgeOperation, Identity, MaxPool, SeparableConvBN, Zero

OPS: dict[str, EdgeOperation] = {
    "none": Zero(), "skip": Identity(), "conv1": ConvBN(1), "conv3": ConvBN(3), "pool": AvgPool(3)
}  # fmt: skip


def cell_text(**edges: str) -> str:
    """The canonical text of a cell given the operations of some edges; the others are missing."""
    chosen = {(s, t): OPS[edges.get(f"e{s}{t}", "none")] for t in range(1, 4) for s in range(t)}
    return canonical_cell(4, chosen)


def test_isomorphic_cells_are_one_and_others_are_not() -> None:
    assert cell_text(e01="skip", e02="conv3", e03="pool") == cell_text(e01="skip", e02="conv3", e13="none", e03="pool")
    assert cell_text(e01="skip", e13="conv3", e03="pool") == cell_text(e01="skip", e03="conv3", e13="pool")
    assert cell_text(e01="none", e13="conv3", e03="pool") == cell_text(e13="conv1", e03="pool"), "node 1 brings nothing"
    assert cell_text(e01="conv3", e13="conv1") != cell_text(e01="conv1", e13="conv3"), "the order matters"
    assert cell_text() == "#+#+#"


def test_equal_cells_inside_a_larger_space_have_equal_keys_but_keep_their_values() -> None:
    space = Space(lr=Float(0, 1), cell=Cell(nodes=3, ops=OPS))
    edges = {"edge_0_1": "skip", "edge_0_2": "conv1", "edge_1_2": "pool"}
    first = space.validate({"lr": 0.5, "cell": edges})
    second = space.validate({"lr": 0.5, "cell": {"edge_0_1": "skip", "edge_0_2": "pool", "edge_1_2": "conv1"}})
    assert first == second and first.key() == second.key() and first.cell.edge_0_2 == "conv1"
    assert first.to_json()["cell"] == edges
    assert Space.from_json(json.loads(json.dumps(space.to_json()))) == space


def test_every_operation_round_trips() -> None:
    ops: dict[str, EdgeOperation] = {**OPS, "max": MaxPool(3), "sep": SeparableConvBN(5)}
    cell = Cell(nodes=3, ops=ops)
    again = Space.from_json(Space(cell=cell).to_json()).nodes["cell"]
    assert isinstance(again, Cell) and again.ops == ops and repr(again) == repr(cell)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Cell(nodes=1, ops=OPS), "at least an input and an output"),
        (lambda: Cell(nodes=3, ops={}), "no operations"),
        (lambda: Cell(nodes=3, ops={"conv": "conv3"}), "operation 'conv'"),  # type: ignore[dict-item]
        (
            lambda: Cell.from_json({"nodes": 3, "ops": {"a": {"kind": "conv_bm", "kernel": 3}}}),
            "Did you mean 'conv_bn'",
        ),
    ],
)
def test_impossible_cells_are_refused(make: object, named: str) -> None:
    with pytest.raises(SpaceError) as error:
        make()  # type: ignore[operator]
    assert named in str(error.value)
