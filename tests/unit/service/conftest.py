"""A head on a simulated pool, and studies for it."""

from shoal.tests.simulated_head import make_head, make_study

__all__ = ["make_head", "make_study"]
