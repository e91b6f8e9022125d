"""Benchmarks. They report ratios, because machines differ. docs/decisions/ contains the conclusions."""
