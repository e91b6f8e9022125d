"""Benchmarks, which report ratios because machines differ. The conclusions are in docs/decisions/."""
