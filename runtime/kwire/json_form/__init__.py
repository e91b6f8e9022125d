"""Converts codec objects to and from Kafka's JSON form without pydantic. Brokers write this form to request logs.

The entry points are ``Message.from_json(value, version)`` and ``message.to_json(version)``. A JSON object contains
exactly the fields of its version. The pydantic models accept the same values (docs/decisions/models.md). Field names
of earlier releases are also accepted.
"""

from __future__ import annotations

from kwire.json_form.errors import JsonFormError
from kwire.json_form.read import from_json
from kwire.json_form.write import to_json

__all__ = ["JsonFormError", "from_json", "to_json"]
