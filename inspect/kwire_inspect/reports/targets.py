"""Targets to check clients against: a release, a running broker, or a broker's saved answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.releases import BrokerAnswer
from kwire_inspect.options import OptionError
from kwire_inspect.reports.release_support import each_once
from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES

if TYPE_CHECKING:
    from kwire.releases import Release, Releases


def find_targets(texts: Iterable[str], config: str | None = None, releases: Releases = RELEASES) -> list[Release]:
    """Return the targets with these names, without duplicates. For ``config``, see :func:`find_target`."""
    texts = list(dict.fromkeys(texts))
    if config is not None and not any(":" in text for text in texts):
        raise OptionError("--target-config needs a target HOST:PORT")
    found = [find_target(text, config if ":" in text else None, releases) for text in texts]
    return each_once(found)


def find_target(text: str, config: str | None = None, releases: Releases = RELEASES) -> Release:
    """Return the target with this name: a release, a broker at ``HOST:PORT``, or a file with a broker's answer.

    ``config`` is the properties file of a client, for a broker that requires TLS or a login. Raises
    ``UnknownReleaseError`` for an unknown release, ``BrokerError`` if the broker does not answer, and
    :class:`OptionError` if the file does not contain a broker's answer.
    """
    is_address = ":" in text  # 1.1.1.1:9092 is not a release of the line 1.1
    if not is_address and text in releases:
        return releases[text]
    try:
        if Path(text).is_file():
            return releases.of(BrokerAnswer.from_json(json.loads(Path(text).read_bytes())))
        if is_address:
            return releases.of(_asked(text, config))
    except (OSError, ValueError, RecursionError) as problem:
        raise OptionError(f"target {text}: {problem}") from None
    return releases[text]


def warnings(texts: Iterable[str], config: str | None) -> Iterator[str]:
    """Yield a warning for each target to which the login in ``config`` would be sent in clear text."""
    if config is None:
        return
    from kwire.client import Security, parse_address, read_properties

    for text in dict.fromkeys(texts):
        if ":" in text:
            try:
                security, (host, _) = Security.from_properties(read_properties(config)), parse_address(text)
            except (OSError, ValueError):
                continue  # find_target reports the error
            if warning := security.warning(host, config):
                yield warning


def _asked(address: str, config: str | None) -> BrokerAnswer:
    import asyncio  # not needed if the target is a release

    from kwire.client import Security, ask, connect, parse_address, read_properties

    security = Security.from_properties(read_properties(config)) if config else None

    async def answer() -> BrokerAnswer:
        async with await connect(*parse_address(address), PROTOCOL, security=security, timeout=10) as client:
            return await ask(client)

    return asyncio.run(answer())
