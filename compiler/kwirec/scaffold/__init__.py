"""A first protocol of somebody's own, to start from: ``kwirec new``."""

from kwirec.scaffold.scaffold import create

__all__ = ["create"]
