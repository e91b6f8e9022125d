"""Reads packet captures into ordered pieces of TCP streams, without Spark or Kafka.

From pcap and pcapng files, plain or compressed, come a ``Piece`` for each run of bytes, gap and end of a connection,
and a ``Broken`` for each error of a file.
"""

from kwire_inspect.capture.ordering import Piece
from kwire_inspect.capture.packets import Connection, Peer
from kwire_inspect.capture.pcap import Broken
from kwire_inspect.capture.tcp import TcpConnection, largest, read_pieces

__all__ = ["Broken", "Connection", "Peer", "Piece", "TcpConnection", "largest", "read_pieces"]
