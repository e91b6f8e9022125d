"""``merge(root, release, paths, report)`` merges a release into the union of all releases."""

from kwirec.merge.merge import MergeOutcome, merge

__all__ = ["MergeOutcome", "merge"]
