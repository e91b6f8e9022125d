from typing import assert_never

import kwire_kafka
from kwire.connection import CLIENT, ConnectionDecoder, RequestEvent, ResponseEvent
from kwire_kafka import PROTOCOL
from kwire_kafka import ProducRequest  # error
from kwire_kafka.models import FetchResponsModel  # error

kwire_kafka.MetadataReqest  # error
kwire_kafka.MetadataRequest(topic=None)  # error
kwire_kafka.ProduceRequest(topic_data=None)  # error
kwire_kafka.FetchRequest(replica_state=None)  # error

for event in ConnectionDecoder(PROTOCOL).feed(CLIENT, b"", 0.0):
    match event:
        case RequestEvent() | ResponseEvent():
            print(event.position)
        case _:
            assert_never(event)  # error
