"""Kafka's JSON form, as in a broker's request log, to codec objects: without pydantic, and as fast as Python allows.

::

    fetch = from_json(FetchRequest, 13, json.loads(text))

What is accepted is what models accept of JSON (docs/decisions/models.md): the fields of exactly that version, by
their names or those they had in earlier releases.
"""

from __future__ import annotations

from kwire.json_form.read import JsonFormError, from_json

__all__ = ["JsonFormError", "from_json"]
