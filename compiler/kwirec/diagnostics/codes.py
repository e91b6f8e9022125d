"""The codes of the first passes: K0xx for reading and parsing, K1xx for resolving.

The codes of rules are defined with their checks in ``kwirec.validation``. ``kwirec.catalogue`` lists all codes.
"""

from __future__ import annotations

from kwire_rules import NUMBERS
from kwirec.diagnostics.diagnostic import Code, Severity
from kwirec.diagnostics.examples import ABSENT, HOUR, clock, enum, field, files, krammar, struct, value

UNREADABLE = Code(
    number="K001",
    name="unreadable",
    what="A given path cannot be read. It does not exist, access is denied, an archive is damaged or too large, or "
    "all definitions together are larger than 2 MiB.",
    why="Continuing without it would silently compile an incomplete protocol. Memory and time grow with the size of "
    "definitions. Kafka's definitions are 0.7 MiB.",
    offending="kwirec check message_dfes/",
    corrected="kwirec check message_defs/",
)

NOT_UTF8 = Code(
    number="K002",
    name="not-utf8",
    what="A definition file contains bytes that are not valid UTF-8.",
    why="Positions would be unreliable, and descriptions would be garbled in the generated code.",
    offending='{ "type": "data", "about": "\\xff", … }',
    corrected='{ "type": "data", "about": "ÿ", … } saved as UTF-8',
)

UNTERMINATED = Code(
    number="K003",
    name="unterminated",
    what="A string, block comment, list or object is not closed.",
    why="Everything after the opening character would be read as content.",
    offending=clock().removesuffix(" }"),
    krammar=krammar("  Hours: [int8"),
    corrected=clock(),
)

BAD_ESCAPE = Code(
    number="K004",
    name="bad-escape",
    what="A string contains an escape sequence that is not valid JSON.",
    why="JSON readers would interpret the string differently.",
    offending=clock().replace("A clock.", r"A \q clock."),
    corrected=clock(about='A "q" clock.'),
)

UNEXPECTED_TOKEN = Code(
    number="K005",
    name="unexpected-token",
    what="The file does not follow its notation. A comma, colon, value, type or bracket is missing or misplaced.",
    why="The rest of the definition could be misread.",
    offending=clock().replace(",", "", 1),
    krammar=krammar("  Hour int8"),
    corrected=clock(),
    fixable=True,
)

TRAILING_TOKENS = Code(
    number="K006",
    name="trailing-tokens",
    what="Something follows the closing brace of the definition.",
    why="Old Kafka releases contain such files, and their reader ignored the rest. kwirec also ignores the rest, "
    "but warns because a second definition in the file would be lost.",
    severity=Severity.WARNING,
    relaxable=True,
    offending=clock() + " }",
    corrected=clock(),
    fixable=True,
)

EMPTY_FILE = Code(
    number="K007",
    name="empty-file",
    what="A file contains no definition, only white space or comments.",
    why="An empty file is usually a definition that was lost by accident.",
    offending="// to be written",
    corrected="// A moment in time.\n" + clock(),
)

REPEATED_ATTRIBUTE = Code(
    number="K008",
    name="repeated-attribute",
    what="An attribute appears twice in one object, with the same value.",
    why="A later change may update only one of them. This is only a warning because Kafka 3.9 has such files.",
    severity=Severity.WARNING,
    relaxable=True,
    offending=clock().replace('"validVersions"', '"validVersions": "0-2", "validVersions"'),
    krammar=krammar("  Hour: int8 // v1+, v1+"),
    corrected=clock(),
    fixable=True,
)

NO_DEFINITIONS = Code(
    number="K009",
    name="no-definitions",
    what="A given folder or archive contains no message definitions.",
    why="A mistyped path would otherwise pass every check.",
    offending="kwirec check docs/",
    corrected="kwirec check message_defs/",
)

WRONG_KIND = Code(
    number="K010",
    name="wrong-kind",
    what="An attribute has a value of the wrong JSON type, such as a list instead of a string.",
    why="Numbers and booleans written as strings, and single values instead of lists, are accepted because Kafka's "
    "releases contain them. Anything else is an error.",
    offending=clock(validVersions=["0-2"]),
    corrected=clock(),
)

UNKNOWN_ATTRIBUTE = Code(
    number="K011",
    name="unknown-attribute",
    what="A message, struct, field or enum has an attribute that does not exist.",
    why="With a misspelt `nullableVersions`, for example, the field would never be nullable.",
    offending=clock(fields=ABSENT, feilds=[]),
    krammar=krammar("  Hour: int8 // ignorabel"),
    corrected=clock(),
    fixable=True,
)

DUPLICATE_ATTRIBUTE = Code(
    number="K012",
    name="duplicate-attribute",
    what="An attribute appears twice in one object, with different values.",
    why="JSON readers disagree about which value to use.",
    offending=clock().replace('"validVersions"', '"validVersions": "0-1", "validVersions"'),
    krammar=krammar("  Hour: int8 // v1+, v2+"),
    corrected=clock(),
)

MISSING_ATTRIBUTE = Code(
    number="K013",
    name="missing-attribute",
    what="A message, struct, field or enum lacks a required attribute.",
    why="A message needs a type, a name, valid versions and, unless it has no versions, fields. A field needs a "
    "name, a type and versions (or tagged versions). An enum needs a name, the type of its values and values.",
    offending=clock(field("Millis", "int64", versions=ABSENT)),
    krammar=krammar().replace("key 900, ", ""),
    corrected=clock(field("Millis", "int64")),
)

BAD_VERSION_RANGE = Code(
    number="K014",
    name="bad-version-range",
    what="A version range is not written as `N`, `N-M`, `N+` or `none`, or a bound does not fit an int16.",
    why="Guessing is not safe, because `1..3` or `<4` can be understood in different ways.",
    offending=clock(validVersions="0..2"),
    krammar=krammar("  Hour: int8 // v1"),
    corrected=clock(),
    fixable=True,
)

BAD_TYPE = Code(
    number="K015",
    name="bad-type",
    what="A type is not a name, optionally preceded by `[]`.",
    why="`[]` needs an element type, and names consist of letters and digits.",
    offending=clock(field("Ticks", "int64[]")),
    krammar=krammar("  Hours: int8[]"),
    corrected=clock(field("Ticks", "[]int64")),
    fixable=True,
)

UNKNOWN_MESSAGE_TYPE = Code(
    number="K016",
    name="unknown-message-type",
    what="The `type` of a definition is not one of request, response, header, data, metadata, coordinator-key, "
    "coordinator-value and enum.",
    why="The type decides which attributes a message needs and how its bytes are framed.",
    offending=clock(type="dta"),
    corrected=clock(),
    fixable=True,
)

BAD_ERROR = Code(
    number="K017",
    name="bad-error",
    what="An error in `errors.json` has a code outside of int16, a name that does not consist of capital letters, "
    "digits and underscores, the code or name of another error, or a `since` that is not a release.",
    why="Codes are encoded as int16, and names become the members of an enum in the generated package. "
    "Releases are numbers separated by dots.",
    offending=files(
        clock(), '// errors.json\n[{ "code": 1, "name": "Too late", "retriable": false, "about": "Late." }]'
    ),
    corrected=files(
        clock(), '// errors.json\n[{ "code": 1, "name": "TOO_LATE", "retriable": false, "about": "Late." }]'
    ),
    fixable=True,
)

BAD_INDENTATION = Code(
    number="K020",
    name="bad-indentation",
    what="A line begins with a tab, an odd number of spaces or too many spaces, or is indented outside of a struct.",
    why="The indentation of a line determines the struct of a field. Each level is two spaces.",
    offending=krammar().replace("  Hour", "   Hour"),
    corrected=krammar(),
)

SPACING = Code(
    number="K021",
    name="spacing",
    what="A line ends with white space, or two words are not separated by exactly one space.",
    why="franz-go's generator refuses such a file.",
    severity=Severity.WARNING,
    relaxable=True,
    offending=krammar().replace("int8", "int8 "),
    corrected=krammar(),
    fixable=True,
)

NOT_FRANZ_GO = Code(
    number="K022",
    name="not-franz-go",
    what="A definition in franz-go's dialect uses a word that only kwire knows.",
    why="franz-go's generator refuses the file. Files without a suffix are in this dialect, as are all files with "
    "`--dialect franz-go`.",
    severity=Severity.NOTE,
    relaxable=True,
    offending=krammar("  Hour: int8 // ignorable", name="00_clock"),
    corrected=krammar("  Hour: int8", name="00_clock"),
)

WRONG_IN_FRANZ_GO = Code(
    number="K023",
    name="wrong-in-franz-go",
    what="For a definition in franz-go's dialect, its generator writes different bytes than Kafka. It has a "
    "tag and versions, a nullable tagged struct, or a named struct without `flexible` in a flexible message.",
    why="Peers misread the message, and no error says why.",
    severity=Severity.WARNING,
    relaxable=True,
    offending=krammar("  Hour: int8 // v2+, tag 0", name="00_clock"),
    corrected=krammar("  Hour: int8 // tag 0", name="00_clock"),
)

UNKNOWN_NOTATION = Code(
    number="K024",
    name="unknown-notation",
    what="A file without a known suffix starts neither with `{` nor with the head of a struct or enum.",
    why="It is probably not a definition.",
    offending="// clock\n\nclock: int64",
    corrected=krammar(name="00_clock"),
)

RESPONSE_WITHOUT_REQUEST = Code(
    number="K025",
    name="response-without-request",
    what="A response without an api key does not directly follow its request.",
    why="The response uses the api key and versions of the request.",
    offending=krammar("  Hour: int8", "  Minute: int8", order=(1, 0)),
    corrected=krammar("  Hour: int8", "  Minute: int8"),
)

NO_VERSION_FIELD = Code(
    number="K026",
    name="no-version-field",
    what="A struct `with version field` does not start with `Version: int16`.",
    why="The number before the other fields determines their version.",
    offending="// Clock.krm\n\n// A clock.\nClock => not top level, with version field\n  // The hour.\n  Hour: int8",
    corrected="// Clock.krm\n\n// A clock.\nClock => not top level, with version field\n  Version: int16\n"
    "  // The hour.\n  Hour: int8",
)

NOT_IN_NOTATION = Code(
    number="K027",
    name="not-in-notation",
    what="`kwirec convert` omits facts that the other notation, or franz-go's dialect, cannot express.",
    why="The facts are lost when the result is converted back.",
    severity=Severity.WARNING,
    relaxable=True,
    offending="kwirec convert defs --to krammar --dialect franz-go --out out",
    corrected="kwirec convert defs --to krammar --out out",
)

TOO_MANY_FINDINGS = Code(
    number="K028",
    name="too-many-findings",
    what="The command found more than 10,000 problems. It omits the rest.",
    why="An unlimited list would need unlimited memory. Fix the first findings, and run the command again.",
    offending="kwirec check captures/",
    corrected="kwirec check message_defs/",
)

UNKNOWN_TYPE = Code(
    number="K101",
    name="unknown-type",
    what="The type of a field is neither a primitive type nor a struct of its message.",
    why=f"Names in lower case are primitives: {', '.join(NUMBERS)}, string, uuid, bytes, records. "
    "Capitalised names are structs, defined inline by `fields` of the field or in `commonStructs`.",
    offending=clock(field("Zone", "strng")),
    corrected=clock(field("Zone", "string")),
    fixable=True,
)

STRUCT_REDEFINED = Code(
    number="K102",
    name="struct-redefined",
    what="Two structs of one message have the same name.",
    why="The type of a field names its inline struct. Each struct becomes a class, and all structs of a message "
    "share one namespace.",
    offending=clock(
        field("Start", "Time", fields=[field("Millis", "int64")]),
        field("Stop", "Time", fields=[field("Millis", "int64")]),
    ),
    corrected=clock(
        field("Start", "Time"),
        field("Stop", "Time"),
        commonStructs=[struct("Time", field("Millis", "int64"))],
    ),
)

BAD_DEFAULT = Code(
    number="K103",
    name="bad-default",
    what="A default is not valid for the type of its field. It is not a number, is out of range, or is neither empty "
    "nor `null` for bytes, arrays and structs.",
    why="Integers are decimal or hexadecimal (`0x7fffffff`) and must be in range. A bool is `true` or `false`. A "
    "uuid is 16 bytes in base64. Bytes, arrays and structs default to empty or `null`.",
    offending=clock(field("Hour", "int8", default="200")),
    corrected=clock(field("Hour", "int8", default="-1")),
    fixable=True,
)

MESSAGE_REDEFINED = Code(
    number="K104",
    name="message-redefined",
    what="Two messages have the same name.",
    why="Each message becomes a class, and request logs identify messages by name.",
    offending=files(clock(), clock(about="Another clock.")),
    corrected=files(clock(), clock(name="Alarm", about="Another clock.")),
)

UNKNOWN_ENUM = Code(
    number="K105",
    name="unknown-enum",
    what="The `enum` of a field does not name an enum.",
    why="Its values have no names, as if the attribute were absent. An enum is a definition of type `enum`, in any "
    "of the compiled files. This is only a warning because you can compile a part of a protocol.",
    severity=Severity.WARNING,
    relaxable=True,
    offending=files(clock(field("Phase", "int8", enum="Fase")), enum(value("NEW", 0))),
    corrected=files(clock(field("Phase", "int8", enum="Phase")), enum(value("NEW", 0))),
    fixable=True,
)

ENUM_REDEFINED = Code(
    number="K106",
    name="enum-redefined",
    what="Two enums have the same name.",
    why="Fields refer to an enum by its name. All files that are compiled together share these names.",
    offending=files(enum(value("NEW", 0)), enum(value("FULL", 1))),
    corrected=files(enum(value("NEW", 0)), enum(value("FULL", 1), name="Tide")),
)

USED_BEFORE_DEFINED = Code(
    number="K110",
    name="used-before-defined",
    what="A field has the type of a named struct that is defined further down, or in a later file.",
    why="franz-go reads files from their start, in the order of their names, and refuses such a field.",
    offending=krammar("  Hours: [Hour]", structs=("", HOUR)),
    corrected=krammar("  Hours: [Hour]", structs=(HOUR, "")),
)

STRUCT_LEFT_OUT = Code(
    number="K111",
    name="struct-left-out",
    what="No message uses a named struct.",
    why="The struct is not part of the protocol, so the generated package does not contain it.",
    severity=Severity.NOTE,
    relaxable=True,
    offending=krammar(structs=(HOUR, "")),
    corrected=krammar("  Hours: [Hour]", structs=(HOUR, "")),
)

NO_WIRE_KIND = Code(
    number="K112",
    name="no-wire-kind",
    what="A field of a message is a varint, has a varint as its length or count, or has its length in another field.",
    why="Only records have such fields. They are not defined here, and `kwire.records` reads them.",
    offending=krammar("  Hour: varint"),
    corrected=krammar("  Hour: int32"),
)
