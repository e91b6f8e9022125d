"""Merges a release into the union of all releases with ``merge(root, release, paths, report)``."""

from kwirec.merge.merge import MergeOutcome, merge

__all__ = ["MergeOutcome", "merge"]
