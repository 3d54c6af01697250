"""All cells of a published search space."""

from shoal.spaces import Cell
from shoal.spaces.operations import AvgPool, ConvBN, Identity, Zero


def test_the_cells_of_nas_bench_201_fall_into_the_published_number_of_classes() -> None:
    cell = Cell(
        nodes=4, ops={"none": Zero(), "skip": Identity(), "conv1": ConvBN(1), "conv3": ConvBN(3), "pool": AvgPool(3)}
    )
    assert cell.size() == 5**6 == 15_625
    assert len({config.key() for config in cell.grid(1)}) == 6_466
