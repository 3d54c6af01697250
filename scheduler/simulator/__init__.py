"""Discrete-event simulation of a pool: a virtual clock, the policies that also run live, recorded learning curves."""
