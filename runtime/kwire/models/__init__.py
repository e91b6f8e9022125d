"""Pydantic models of messages, to validate messages, inspect them, or exchange them as JSON.

A generated package has a module of models for each module of codecs::

    from kwire_kafka.models import FetchRequestModel

    Fetch = FetchRequestModel.for_version(13)
    fetch = Fetch.model_validate_json(text)         # Kafka's JSON form, as in a broker's request log
    data = fetch.to_codec().encode(13)
    assert Fetch.from_codec(FetchRequest.decode(data, 13)) == fetch

A model has a version and exactly the fields of that version, which ``model_json_schema()`` describes.
Needs the extra ``models``; nothing else in kwire imports this package.
"""

from __future__ import annotations

try:
    from kwire.models.model import OPTIONAL, WITH_RECORDS, ModelOf, Models, VersionModel
except ModuleNotFoundError as error:
    if error.name != "pydantic":
        raise
    raise ModuleNotFoundError("models need pydantic: pip install 'kwire[models]'", name="pydantic") from None

__all__ = ["OPTIONAL", "WITH_RECORDS", "ModelOf", "Models", "VersionModel"]
