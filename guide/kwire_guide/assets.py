"""The files that all pages load: the style sheet, the scripts, and an unmodified copy of MiniSearch."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.emitters.environment import FOLDERS, Artifact

FILES = {
    "icon.svg": "icon.svg",
    "page.css": "page.css",
    "theme.js": "theme.js",
    "page.js": "page.js",
    "find.js": "find.js",
    "minisearch.js": "vendor/minisearch.js",
}


def assets() -> Iterator[Artifact]:
    """Yield the files below ``assets/``."""
    folder = next(folder for folder in FOLDERS if folder.is_dir()) / "guide"
    for name, source in FILES.items():
        text = (folder / source).read_text("utf-8")
        # Browsers would request the source map, but the site does not have it.
        yield Artifact(
            path=f"assets/{name}", text=text.replace("//# sourceMappingURL=index.js.map", "").rstrip() + "\n"
        )
