"""What stores answer, in a few words: their libraries print addresses, request ids and classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

REFUSED = "Hadoop could not reach it, or refused: what it says is above"
WHOLE = "the store sends whole objects where parts are asked for: download it, or give it to the standard input"

_REASONS = (
    (r"(?i)expired", "the credentials have expired: renew them"),
    (r"INVALID_ACCESS_KEY|InvalidAccessKey|XAdminUserNotFound",
     "the store does not know the access key: check the credentials"),
    (r"Could not create a OAuth2 access token|failed to get token from|All the provided credentials failed",
     "there are no credentials, or what gives them cannot be reached"),
    (r"support range requests|Failed to flush response stream", WHOLE),
    (r"ACCESS_DENIED|AccessDenied|SIGNATURE_DOES_NOT|SignatureDoesNot|\b40[13]\b|UNAUTHENTICATED|[Ff]orbidden"
     r"|PERMISSION_DENIED|[Pp]ermission denied",
     "access is denied: check the credentials and their rights"),
    (r"NO_SUCH_BUCKET|NoSuchBucket|BucketNotFound", "there is no such bucket"),
    (r"NO_SUCH_KEY|NoSuchKey|RESOURCE_NOT_FOUND|does not exist", "the object is gone"),
    (r"Unable to load libjvm", "hdfs needs Java: set JAVA_HOME"),
    (r"Unable to load libhdfs",
     "hdfs needs libhdfs.so of a Hadoop installation: set HADOOP_HOME, or ARROW_LIBHDFS_DIR"),
    (r"HDFS connection failed", "hdfs needs Hadoop's jars: set CLASSPATH to what `hadoop classpath --glob` prints"),
    (r"HDFS.*Unknown error 255", REFUSED),
)  # fmt: skip
"""What stores say, and what to say of it."""
_AWS = re.compile(
    r"AWS Error .*?\(HTTP status (\d+)\).*? operation:\s*(?:Unable to parse ExceptionName: )?"
    r"(.*?)(?: \(Request ID.*)?$"
)


class StoreError(OSError):
    """What a store answered, in one line without addresses and request ids."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(0, reason, name)


@contextmanager
def telling(name: str) -> Iterator[None]:
    """Raise :class:`StoreError` for whatever a library raises about an object."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:  # libraries of stores raise errors of their own
        raise StoreError(name, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """An error of a library in a few words."""
    text = " ".join(str(error).split())
    for known, reason in _REASONS:
        if re.search(known, text):
            return reason
    if found := re.search(r"Could ?n[o']t (?:connect|resolve)[^;]*|Timeout was reached", text, re.IGNORECASE):
        return f"the store cannot be reached: {found[0]}"
    if found := _AWS.search(text):
        return f"the store answered {found[1]}: {found[2][:200]}".rstrip(": ")
    return f"{text[:200] or type(error).__name__}"
