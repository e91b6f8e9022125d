"""Maintainers' commands for new Kafka releases. They are not part of the package."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNION = ROOT / "message_defs" / "kafka"
