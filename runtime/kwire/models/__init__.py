"""Pydantic models of messages, for validation, inspection and exchange as JSON.

A generated package has a model module for each codec module::

    from kwire_kafka.models import FetchRequestModel

    Fetch = FetchRequestModel.for_version(13)
    fetch = Fetch.model_validate_json(text)         # Kafka's JSON form, as in a broker's request log
    data = fetch.to_codec().encode(13)
    assert Fetch.from_codec(FetchRequest.decode(data, 13)) == fetch

A model contains exactly the fields of one version, which ``model_json_schema()`` describes. This package requires the
extra ``models``. The rest of kwire does not import ``kwire.models``.
"""

from __future__ import annotations

try:
    from kwire.models.model import OPTIONAL, WITH_RECORDS, ModelOf, Models, VersionModel
except ModuleNotFoundError as error:
    if error.name != "pydantic":
        raise
    raise ModuleNotFoundError("models need pydantic: pip install 'kwire[models]'", name="pydantic") from None

__all__ = ["OPTIONAL", "WITH_RECORDS", "ModelOf", "Models", "VersionModel"]
