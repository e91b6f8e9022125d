"""Prints the lower bounds of the dependencies in pyproject.toml as constraints for pip.

Bounds of development tools are left out: no user depends on them.
"""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
requirements = {*project["dependencies"]}
for name in ("compiler", "guide", "models", "arrow", "inspect", "spark"):
    requirements.update(extras[name])
for requirement in sorted(requirements):
    if bound := re.match(r"([\w.-]+)>=([\w.]+)", requirement):
        print(f"{bound[1]}=={bound[2]}")
