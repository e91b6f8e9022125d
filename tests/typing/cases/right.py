from typing import assert_never

from kwire.connection import (
    CLIENT,
    ConnectionDecoder,
    Gap,
    NotKafka,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Skipped,
    Unanswered,
    Undecodable,
)
from kwire_kafka import (
    PROTOCOL,
    AlterIsrRequest,
    AlterPartitionRequest,
    ApiKey,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    ProduceRequest,
)
from kwire_kafka.models import FetchResponseModel

same: type[AlterPartitionRequest] = AlterIsrRequest  # a former name
code: int = FetchResponse().error_code
key: ApiKey = ApiKey.FETCH
model: FetchResponseModel

MetadataRequest(topics=None)  # all topics: a list that can be null
ProduceRequest(topic_data=[])
FetchRequest(replica_state=FetchRequest().replica_state)

for event in ConnectionDecoder(PROTOCOL).feed(CLIENT, b"", 0.0):
    match event:
        case RequestEvent() | ResponseEvent() | SaslToken() | Undecodable() | Unanswered():
            print(event.position)
        case Skipped() | Gap() | NotKafka():
            print(event.direction)
        case _:
            assert_never(event)  # every event has its case
