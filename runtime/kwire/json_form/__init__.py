"""Kafka's JSON form, which brokers write to request logs: to and from codec objects, without pydantic.

``Message.from_json(value, version)`` and ``message.to_json(version)`` are the entry points. A JSON object has exactly
the fields of its version. Reading accepts the same values as the pydantic models (docs/decisions/models.md), and
the field names of earlier releases.
"""

from __future__ import annotations

from kwire.json_form.errors import JsonFormError
from kwire.json_form.read import from_json
from kwire.json_form.write import to_json

__all__ = ["JsonFormError", "from_json", "to_json"]
