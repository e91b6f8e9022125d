"""Benchmarks. They report ratios, because machines differ. docs/decisions/ has the conclusions."""
