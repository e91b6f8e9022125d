"""Whether there is a Java that Spark can run on, before Spark is started: its own message would say little."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from kwire.errors import KwireError

OLDEST = 17
INSTALL = """\
Spark needs a Java runtime, version 17 or newer. Install one:
  Debian, Ubuntu   apt install openjdk-17-jre-headless
  Fedora, RHEL     dnf install java-17-openjdk-headless
  macOS            brew install openjdk@17
  Windows, others  https://adoptium.net
or let JAVA_HOME point to one that is there."""


class JavaMissingError(KwireError):
    """There is no Java, or one that is too old for Spark; the message says what to install."""


def check_java() -> int:
    """The major version of the Java that Spark is going to use; raises :class:`JavaMissingError`.

    As Spark does it: JAVA_HOME goes before PATH.
    """
    java = _java()
    if java is None:
        raise JavaMissingError(f"There is no Java: nothing called java in PATH, and JAVA_HOME is not set.\n{INSTALL}")
    version = _version(java)
    if version is None:
        raise JavaMissingError(f"{java} does not run.\n{INSTALL}")
    if version < OLDEST:
        raise JavaMissingError(f"{java} is Java {version}, which is too old.\n{INSTALL}")
    return version


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java")


def _version(java: str) -> int | None:
    """17 of ``openjdk version "17.0.15" 2025-04-15``, 8 of ``java version "1.8.0_402"``."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(found[1]) if found else None
