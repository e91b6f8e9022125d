"""Maintainers' commands for new Kafka releases. The package does not include these modules."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNION = ROOT / "message_defs" / "kafka"
