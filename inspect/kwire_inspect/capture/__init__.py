"""Reassembles the TCP streams in packet captures, without Spark or Kafka.

``read_pieces`` reads pcap and pcapng files, plain or compressed. It yields a ``Piece`` for each run of bytes, each
gap and each closed connection, and a ``Broken`` for each problem in a file.
"""

from kwire_inspect.capture.ordering import Piece
from kwire_inspect.capture.packets import Connection, Peer
from kwire_inspect.capture.pcap import Broken
from kwire_inspect.capture.tcp import TcpConnection, largest, read_pieces

__all__ = ["Broken", "Connection", "Peer", "Piece", "TcpConnection", "largest", "read_pieces"]
