"""Commands for maintainers that bring new releases of Kafka; nothing of it is part of the package."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNION = ROOT / "message_defs" / "kafka"
