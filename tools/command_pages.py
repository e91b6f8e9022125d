"""Generates ``docs/commands``, a page for each command of ``kwire`` and ``kwirec``, from its help: ``make docs``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

from kwire.command import group
from kwirec.command import main as compiler
from tools import ROOT

FOLDER = ROOT / "docs" / "commands"
PROGRAMS: Mapping[str, click.Group] = {"kwire": group, "kwirec": compiler}
NUMBERS = click.types.IntParamType, click.types.FloatParamType
INDEX = """\
# Commands

This reference has a page for each command of `kwire` and `kwirec`. `make docs` writes the pages from the help of the
commands.
"""


def command_pages() -> dict[str, str]:
    """Return the text of each page, by file name."""
    pages: dict[str, str] = {}
    index = [INDEX]
    for program, commands in PROGRAMS.items():
        index += [f"## {program}\n", f"{_text(commands.help)}\n", "| command | purpose |", "| -- | -- |"]
        with click.Context(commands, info_name=program) as parent:
            for name in commands.list_commands(parent):
                command = commands.get_command(parent, name)
                assert command is not None
                if not command.hidden:
                    pages[f"{program}-{name}.md"] = "\n".join(_page(command, name, parent)) + "\n"
                    purpose, _, _ = _text(command.help).replace("\n", " ").partition(". ")
                    index.append(f"| [{program} {name}]({program}-{name}.md) | {_cell(purpose.rstrip('.:'))}. |")
        index.append("")
    return {"README.md": "\n".join(index), **pages}


def _page(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    with click.Context(command, info_name=name, parent=parent) as context:
        yield f"# {context.command_path}\n"
        yield f"{_text(command.help)}\n"
        yield f"```text\n{context.command_path} {' '.join(command.collect_usage_pieces(context))}\n```\n"
        yield "| option | value | meaning |"
        yield "| -- | -- | -- |"
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                yield f"| {' | '.join(_cell(text) for text in _row(option, context))} |"
        if command.epilog:
            yield f"\n{_text(command.epilog)}"


def _row(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    """Return a table row: the option's names, its value, and its meaning with default and limits."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    extra = option.get_help_extra(context)
    kind = "NUMBER" if isinstance(option.type, NUMBERS) and not option.metavar else option.make_metavar(context)
    value = "" if option.is_flag or option.count else f"`{kind}`"
    value += ", required" if "required" in extra else ""
    value += ", repeatable" if option.multiple else ""
    help_text = option.help or ""
    meaning = help_text if not help_text or help_text.endswith((".", "]")) else f"{help_text}."
    if "range" in extra:
        meaning += f" Range: `{extra['range']}`."
    if "default" in extra:
        meaning += f" Default: `{extra['default']}`."
    if "envvars" in extra:
        meaning += f" Environment: {', '.join(f'`{variable}`' for variable in extra['envvars'])}."
    return names, value, meaning.strip()


def _text(help_text: str | None) -> str:
    """Return the paragraphs of a help text. A paragraph after a backspace becomes a text block, with its lines."""
    paragraphs = inspect.cleandoc(help_text or "").split("\n\n")
    return "\n\n".join(
        f"```text\n{text.removeprefix(chr(8)).strip(chr(10))}\n```" if text.startswith("\b") else text
        for text in paragraphs
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    pages = command_pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
