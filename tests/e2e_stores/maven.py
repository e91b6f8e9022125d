"""Paths of jars by Maven's coordinates, in its own repository: nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

from tests.real_kafka.jars import DEPENDENCIES, DEPENDENCY
from tools.maven import mvn

SPARK_JARS = Path(pyspark.__file__).parent / "jars"
EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"


@cache
def jars(*coordinates: tuple[str, str, str], without: Sequence[tuple[str, str]] = ()) -> tuple[Path, ...]:
    """The jars of these artifacts and of all that they need, but not of ``without``."""
    exclusions = "".join(EXCLUSION.format(*one) for one in without)
    wanted = "\n".join(DEPENDENCY.format(*one, exclusions) for one in coordinates)
    with TemporaryDirectory() as folder:
        listed = Path(folder, "classpath.txt")
        mvn(DEPENDENCIES.format(wanted), "dependency:build-classpath", f"-Dmdep.outputFile={listed}")
        return tuple(map(Path, listed.read_text().strip().split(":")))


def hadoop_version() -> str:
    """That of the Hadoop which Spark comes with."""
    [jar] = SPARK_JARS.glob("hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")
