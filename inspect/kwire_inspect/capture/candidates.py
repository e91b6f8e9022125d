"""Finds the next packet in a pcap file by checking many positions of a buffer at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Places = npt.NDArray[np.int64]

PIECE = 1 << 16
"""Number of positions to examine at a time."""


class Headers:
    """Finds the positions that ``Mark.plausible`` would accept: positions of headers that are followed by another
    header or by the end of the file.

    ``times`` contains the minimum and maximum packet times, in seconds since the epoch, and ``sizes`` the minimum and
    maximum packet sizes, in bytes. ``head`` is the size of a header in bytes.
    """

    def __init__(self, order: str, head: int, times: tuple[int, int], sizes: tuple[int, int]) -> None:
        self._order, self._head, self._times, self._sizes = order, head, times, sizes

    def first(self, buffer: bytes, start: int, stop: int) -> int:
        """Return the first position in ``range(start, stop)`` that holds a plausible header, or -1."""
        data = np.frombuffer(buffer, np.uint8)
        for begin in range(start, stop, PIECE):
            places = np.arange(begin, min(begin + PIECE, stop), dtype=np.int64)
            places, ends = self._headers(data, places)
            inside = ends < len(data)
            found, _ = self._headers(data, ends[inside])
            good = (ends == len(data)) | np.isin(ends, found)
            if good.any():
                return int(places[good][0])
        return -1

    def _headers(self, data: npt.NDArray[np.uint8], places: Places) -> tuple[Places, Places]:
        """Return the positions in ``places`` that may hold a header, and the positions where packets would end."""
        places = places[places <= len(data) - self._head]
        seconds = self._word(data, places)
        places = places[(seconds >= self._times[0]) & (seconds <= self._times[1])]
        places = places[self._word(data, places + 4) < 10**9]
        size, length = self._word(data, places + 8), self._word(data, places + 12)
        good = (size >= self._sizes[0]) & (size <= np.minimum(length, self._sizes[1]))
        places = places[good]
        return places, places + self._head + size[good]

    def _word(self, data: npt.NDArray[np.uint8], places: Places) -> Places:
        """Return the 32-bit numbers at the positions in ``places``."""
        shifts = (0, 8, 16, 24) if self._order == "<" else (24, 16, 8, 0)
        word = np.zeros(len(places), np.int64)
        for index, shift in enumerate(shifts):
            word |= data[places + index].astype(np.int64) << shift
        return word
