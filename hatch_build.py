"""Makes native wheels where ``KWIRE_NATIVE=1``; all others are pure, so that no install needs a compiler."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = os.environ.get("KWIRE_NATIVE") == "1"


class NativeHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        return ["mypy[mypyc]>=2.4", "setuptools"] if NATIVE else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not NATIVE or version == "editable":
            return
        sys.path[:0] = [self.root, str(Path(self.root, "compiler"))]
        from tools.native import build

        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for path in build().libraries:
            inside = path.relative_to(self.root).parts[1:]  # below `runtime` or `generated`
            build_data["force_include"][str(path)] = "/".join(inside)
