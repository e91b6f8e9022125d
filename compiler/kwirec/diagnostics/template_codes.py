"""The codes of ``kwirec emit``: K9xx for template folders, templates and their outputs."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Code

BAD_EMIT_TOML = Code(
    number="K901",
    name="bad-emit-toml",
    what="The `emit.toml` of a template folder is not TOML, or has a key or value that `kwirec emit` does not know.",
    why="With a misspelt key, an output would be missing, or its template would run for the wrong parts of the "
    "definitions.",
    offending='[[output]]\ntemplate = "table.md.jinja"\neach = "mesage"',
    corrected='[[output]]\ntemplate = "table.md.jinja"\neach = "message"',
)

TEMPLATE_SYNTAX = Code(
    number="K902",
    name="template-syntax",
    what="A template is not valid Jinja.",
    why="Templates use the syntax of Jinja 3, including its extension for `break` and `continue`.",
    offending="{% for message in schema.messages %}{{ message.name }}",
    corrected="{% for message in schema.messages %}{{ message.name }}{% endfor %}",
)

UNDEFINED_NAME = Code(
    number="K903",
    name="undefined-name",
    what="A template uses a name or an attribute that does not exist.",
    why="Jinja would print nothing for the name, and the mistake would go unnoticed. `docs/outputs.md` lists the "
    "names.",
    offending="{{ schema.mesages | length }}",
    corrected="{{ schema.messages | length }}",
)

TEMPLATE_FAILED = Code(
    number="K904",
    name="template-failed",
    what="A template fails because an operation does not fit its values, an included template is missing, or the "
    "template calls `fail`.",
    why="The command writes no file, because outputs must not mix old and new files.",
    offending="{{ schema.messages | length + '!' }}",
    corrected="{{ schema.messages | length }}!",
)

TEMPLATE_UNSAFE = Code(
    number="K905",
    name="template-unsafe",
    what="A template uses something that a sandbox forbids, such as an attribute that begins with `_`.",
    why="Templates may come from strangers. Templates can use the view of the protocol and their parameters, but "
    "neither files nor other Python objects.",
    offending="{{ schema.__class__.__mro__ }}",
    corrected="{{ schema.messages | length }}",
)

TEMPLATE_LIMIT = Code(
    number="K906",
    name="template-limit",
    what="The templates exceed a limit on time, memory, the size of their text or the number of files.",
    why="An endless loop could block the machine or fill the disk. `--timeout` limits the CPU time in seconds.",
    offending="{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    corrected="{% for message in schema.messages %}{% endfor %}",
)

BAD_OUTPUT_PATH = Code(
    number="K907",
    name="bad-output-path",
    what="The path of an output is not a plain relative path. The path is absolute, leads out of the folder, has "
    "characters other than letters, digits and `_.@+=-`, or is a name that Windows or kwirec reserves.",
    why="The command writes only below `--out`. A file must have the same path on all systems.",
    offending='[[output]]\ntemplate = "table.md.jinja"\npath = "../table.md"',
    corrected='[[output]]\ntemplate = "table.md.jinja"\npath = "table.md"',
)

OUTPUT_TWICE = Code(
    number="K908",
    name="output-twice",
    what="Two outputs have the same path or paths that differ only in case, or one path is a folder of the other.",
    why="Only one of the outputs could be written.",
    offending='[[output]]\ntemplate = "struct.go.jinja"\neach = "struct"\npath = "structs.go"',
    corrected='[[output]]\ntemplate = "struct.go.jinja"\neach = "struct"\npath = "{{ message }}/{{ struct }}.go"',
)

NOT_FORMATTED = Code(
    number="K909",
    name="not-formatted",
    what="An output cannot be formatted: black or the command of `--format-with` refuses it.",
    why="The output is probably not valid in its language. Outputs that end in `.py` are formatted by black.",
    offending='[[output]]\ntemplate = "names.py.jinja"    # makes `names = [`',
    corrected='[[output]]\ntemplate = "names.py.jinja"    # makes `names = []`',
)

BAD_TEMPLATE_FILE = Code(
    number="K910",
    name="bad-template-file",
    what="A file in a template folder is a symbolic link or not UTF-8, or the folder contains too much text.",
    why="A link could lead to any file on the machine, and the output would contain the text of that file.",
    offending="templates/table.md.jinja -> ../../secrets.txt",
    corrected="templates/table.md.jinja",
)
