"""Taking a release into the union of all releases. ``merge(root, release, paths, report)`` does it all."""

from kwirec.merge.merge import MergeOutcome, merge

__all__ = ["MergeOutcome", "merge"]
