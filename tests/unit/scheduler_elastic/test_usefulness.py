"""P(useful): exact where it can be, ordered everywhere."""

from itertools import combinations

import pytest

from shoal.scheduler.usefulness import Standing, exchangeable, usefulness


@pytest.mark.parametrize(("seen", "to_come", "quota"), [(1, 2, 1), (2, 3, 2), (3, 4, 2), (4, 2, 3)])
def test_the_first_rung_is_exact(seen: int, to_come: int, quota: int) -> None:
    """Against counting all ways in which those seen can be spread among all."""
    total = seen + to_come
    ways = list(combinations(range(1, total + 1), seen))  # final ranks of those seen, best first
    for rank in range(1, seen + 1):
        expected = sum(1 for final in ways if final[rank - 1] <= quota) / len(ways)
        assert exchangeable(seen, to_come, quota)[rank - 1] == pytest.approx(expected)


def test_nobody_left_to_come_makes_it_a_fact() -> None:
    assert exchangeable(6, 0, 2).tolist() == [1, 1, 0, 0, 0, 0]


def test_a_trial_that_too_few_can_displace_is_certain() -> None:
    assert exchangeable(20, 2, 5).tolist()[:3] == [1, 1, 1]
    assert exchangeable(20, 2, 5)[3] < 1.0


def test_a_leader_of_the_first_rung_is_trusted_at_the_second() -> None:
    """One report at rung 1 says little by itself; that it came from the best of rung 0 says a lot."""
    first = Standing(ranked=tuple(range(40)), quota=13, expected=40)

    def alone_at_the_top(number: int) -> float:
        second = Standing(ranked=(number,), quota=4, expected=13)
        return usefulness([first, second], unstarted=0)[number]

    assert alone_at_the_top(0) > 0.8
    assert alone_at_the_top(0) > alone_at_the_top(6) > alone_at_the_top(12)


def test_better_ranks_are_never_less_useful() -> None:
    first = Standing(ranked=tuple(range(30)), quota=20, expected=60)
    second = Standing(ranked=(3, 1, 9, 0, 5), quota=6, expected=20)
    useful = usefulness([first, second], unstarted=30)
    chances = [useful[number] for number in second.ranked]
    assert chances == sorted(chances, reverse=True)
    assert all(0.0 <= chance <= 1.0 for chance in useful.values())


def test_the_gone_do_not_compete() -> None:
    first = Standing(ranked=(0, 1, 2, 3), quota=3, expected=4)
    second = Standing(ranked=(1,), quota=1, expected=3)
    assert usefulness([first, second], unstarted=0)[1] < 1.0
    assert usefulness([first, second], unstarted=0, gone={0, 2})[1] == 1.0
