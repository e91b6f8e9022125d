"""Steps of workflows and actions of GitHub, run as its runner does: scripts in bash, with expressions filled in."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass
class Job:
    """A job in a checkout. ``expressions`` are what ``${{ … }}`` stands for, ``skipped`` the names of steps."""

    steps: list[dict[str, Any]]
    checkout: Path
    expressions: Mapping[str, str]
    environment: Mapping[str, str]
    skipped: Collection[str] = ()
    folder: str = "."
    output: str = ""

    def run(self) -> str:
        """Return the name of the step that fails, or an empty text."""
        (self.checkout / ".git" / "github").mkdir(exist_ok=True)
        failed = ""
        for step in self.steps:
            condition = step.get("if", "")
            is_due = (not failed or "!cancelled()" in condition) and self._holds(condition)
            if "run" in step and step["name"] not in self.skipped and is_due:
                assert "${{" not in step["run"], "a shell would run what is filled in"
                done = self._bash(step)
                self.output += done.stdout
                failed = failed or (str(step["name"]) if done.returncode else "")
        return failed

    @property
    def summary(self) -> str:
        return (self.checkout / ".git/github/summary").read_text()

    def _bash(self, step: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        script = self.checkout / ".git" / "github" / "script"
        script.write_text(step["run"])
        named = {name: self.filled(str(value)) for name, value in step.get("env", {}).items()}
        temporary = {"RUNNER_TEMP": str(script.parent), "GITHUB_STEP_SUMMARY": str(script.with_name("summary"))}
        return subprocess.run(
            (
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", script]
                if "shell" in step
                else ["bash", "-e", script]
            ),
            cwd=self.checkout / self.filled(step.get("working-directory", self.folder)),
            env={**os.environ, "GITHUB_ACTIONS": "true", **temporary, **self.environment, **named},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _holds(self, condition: str) -> bool:
        """Decide a condition of comparisons that are joined by ``&&``."""
        sides = [part.split(" == ") for part in condition.split(" && ") if " == " in part]
        return all(self._value(left) == self._value(right) for left, right in sides)

    def _value(self, word: str) -> str:
        return word.strip("'") if word.startswith("'") else self.expressions[word]

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: self.expressions[found[1]], text)


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())
