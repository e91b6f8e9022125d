"""A first protocol of somebody's own, to start from: ``kwirec new``."""

from kwirec.scaffold.scaffold import lay_down

__all__ = ["lay_down"]
