"""File systems by the beginning of an address: Arrow's for ``s3``, ``gs``, ``abfss`` and ``hdfs``, else those of
``fsspec``, if it is installed.

Credentials come from the chain of each library: the environment, its configuration files, the machine's role.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kwire_inspect.storage.answers import StoreError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

S3 = frozenset({"s3", "s3a", "s3n"})
"""The names that Hadoop has for it too."""
GOOGLE = frozenset({"gs", "gcs"})
AZURE = frozenset({"abfs", "abfss"})
HADOOP = frozenset({"hdfs", "viewfs"})
WEB = frozenset({"http", "https"})
CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"


@lru_cache(maxsize=64)
def file_system(scheme: str, authority: str) -> tuple[FileSystem, str]:
    """The file system of names with this beginning, and what its paths begin with."""
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    root = f"{scheme}://{authority}/"
    if scheme in S3:
        return _s3(authority), authority
    if scheme in AZURE and (account := connected(authority)):
        return account, authority.rpartition("@")[0]
    if scheme in GOOGLE | AZURE | HADOOP:
        found, path = from_uri(f"{root}?retry_limit_seconds=30" if scheme in GOOGLE else root)
        return found, path.rstrip("/")
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-not-found]
    except ImportError:
        raise StoreError(root, f"{scheme}: needs fsspec: pip install fsspec{' aiohttp' * (scheme in WEB)}") from None
    found, path = url_to_fs(root)
    return PyFileSystem(FSSpecHandler(found)), path.rstrip("/")


def _s3(bucket: str) -> FileSystem:
    """With the endpoint of ``AWS_ENDPOINT_URL``, as other clients of S3; else in the bucket's region."""
    from pyarrow.fs import S3FileSystem

    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        return S3FileSystem(endpoint_override=endpoint.rstrip("/"))
    if os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        return S3FileSystem()
    return from_uri(f"s3://{bucket}/")[0]


def connected(authority: str) -> FileSystem | None:
    """That of ``AZURE_STORAGE_CONNECTION_STRING``, as other clients of Azure have it, if it is of this account."""
    from pyarrow.fs import AzureFileSystem

    pairs = (part.split("=", 1) for part in os.environ.get(CONNECTION_STRING, "").split(";") if "=" in part)
    given = {name.strip(): value for name, value in pairs}
    name = given.get("AccountName", "")
    if not name or name != authority.rpartition("@")[2].partition(".")[0]:
        return None
    host = f"{name}.blob.{given.get('EndpointSuffix', 'core.windows.net')}"
    address = urlsplit(given.get("BlobEndpoint") or f"{given.get('DefaultEndpointsProtocol', 'https')}://{host}")
    blob = address.netloc.removeprefix(name)  # with a dot, or a host where the account is in the path
    secrets = {"account_key": given.get("AccountKey"), "sas_token": given.get("SharedAccessSignature")}
    return AzureFileSystem(
        name,
        blob_storage_authority=blob,
        blob_storage_scheme=address.scheme,
        dfs_storage_authority=blob.replace(".blob.", ".dfs.", 1),
        dfs_storage_scheme=address.scheme,
        **{key: value for key, value in secrets.items() if value},
    )


def from_uri(address: str) -> tuple[FileSystem, str]:
    """Arrow's file system for an address, and the path in it."""
    from pyarrow.fs import FileSystem

    found: tuple[FileSystem, str] = FileSystem.from_uri(address)
    return found
