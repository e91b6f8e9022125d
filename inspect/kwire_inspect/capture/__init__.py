"""Reassembles the TCP streams in packet captures, without Spark or Kafka.

Reading pcap and pcapng files, plain or compressed, yields a ``Piece`` for each run of bytes, each gap and each end of
a connection, and a ``Broken`` for each problem of a file.
"""

from kwire_inspect.capture.ordering import Piece
from kwire_inspect.capture.packets import Connection, Peer
from kwire_inspect.capture.pcap import Broken
from kwire_inspect.capture.tcp import TcpConnection, largest, read_pieces

__all__ = ["Broken", "Connection", "Peer", "Piece", "TcpConnection", "largest", "read_pieces"]
