"""Measurements. They are reported as ratios, since machines differ; docs/decisions/ keeps the conclusions."""
