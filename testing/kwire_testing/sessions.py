"""Fetch sessions, which allow clients to send only changes [KIP-227]."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import count

from kwire import Uuid
from kwire_kafka import FetchRequest
from kwire_kafka.api.fetch import FetchPartition, PartitionData
from kwire_kafka.errors import ErrorCode
from kwire_testing.refusal import Refused

MAX_SESSIONS = 1000
"""Maximum number of sessions in a cluster. A new session replaces the oldest session."""
NO_SESSION, FIRST, LAST = 0, 0, -1
MAX_EPOCH = (1 << 31) - 1
MAX_WANTED = 100_000
"""Maximum number of partitions in a session. A client that adds more partitions must start a new session."""

Key = tuple[str, Uuid, int]
"""Topic name, topic id and partition index. Either the name or the id is empty."""


@dataclass(slots=True)
class Session:
    """A client's partitions, each with the end offset and start offset in the last response."""

    id: int
    node: int
    epoch: int = 1
    wanted: dict[Key, FetchPartition] = field(default_factory=dict)
    sent: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def is_new(self, key: Key, part: PartitionData) -> bool:
        """Return whether a partition without records has an error or an offset that the client does not know."""
        return part.error_code != 0 or self.sent.get(key) != (part.high_watermark, part.log_start_offset)


class Sessions:
    """All fetch sessions of a cluster."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, Session] = OrderedDict()
        self._number = count(1)

    def enter(self, node: int, version: int, request: FetchRequest) -> Session:
        """Return the session of a request after updating it. If the request begins a session, create it."""
        if request.session_epoch in (FIRST, LAST):
            self._open.pop(request.session_id, None)
            session = Session(NO_SESSION, node)
            if version >= 7 and request.session_epoch == FIRST:
                session.id = next(self._number)
                self._open[session.id] = session
                if len(self._open) > MAX_SESSIONS:
                    self._open.popitem(last=False)
        else:
            session = self._known(node, request)
        for topic in request.topics:
            for part in topic.partitions:
                session.wanted[topic.topic, topic.topic_id, part.partition] = part
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                session.wanted.pop((gone.topic, gone.topic_id, index), None)
                session.sent.pop((gone.topic, gone.topic_id, index), None)
        if session.id and len(session.wanted) > MAX_WANTED:
            del self._open[session.id]
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return session

    def _known(self, node: int, request: FetchRequest) -> Session:
        session = self._open.get(request.session_id)
        if session is None or session.node != node:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.epoch = session.epoch + 1 if session.epoch < MAX_EPOCH else 1
        return session
