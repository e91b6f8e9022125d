"""Check for a Java that Spark can run on, before Spark is started and fails with a message of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from kwire.errors import KwireError

MIN_VERSION = 17
INSTALL = """\
Spark needs Java 17 or newer. Install it:
  Debian, Ubuntu   apt install openjdk-17-jre-headless
  Fedora, RHEL     dnf install java-17-openjdk-headless
  macOS            brew install openjdk@17
  Windows, others  https://adoptium.net
or set JAVA_HOME to an existing installation."""


class JavaMissingError(KwireError):
    """Java is missing or too old for Spark; the message says what to install."""


def check_java() -> int:
    """The major version of the Java that Spark will use: JAVA_HOME takes precedence over PATH.

    Raises :class:`JavaMissingError` if there is none, or one older than :data:`MIN_VERSION`.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise JavaMissingError(f"Java not found: JAVA_HOME is not set and PATH has no java.\n{INSTALL}")
    version = _version(java)
    if version is None:
        raise JavaMissingError(f"{java} does not run.\n{INSTALL}")
    if version < MIN_VERSION:
        raise JavaMissingError(f"{java} is Java {version}, which is too old.\n{INSTALL}")
    return version


def _version(java: str) -> int | None:
    """17 of ``openjdk version "17.0.15" 2025-04-15``, 8 of ``java version "1.8.0_402"``."""
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', ran.stderr + ran.stdout)
    return int(match[1]) if match else None
