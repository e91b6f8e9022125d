"""Creates a starter protocol: ``kwirec new``."""

from kwirec.scaffold.scaffold import create

__all__ = ["create"]
