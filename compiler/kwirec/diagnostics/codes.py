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
    what="A path cannot be read, because it does not exist, access is denied, an archive is damaged or too large, or "
    "all definitions together are larger than 2 MiB.",
    why="Skipping the path would silently compile an incomplete protocol. The size is limited because memory use and "
    "run time grow with it. Kafka's definitions total 0.7 MiB.",
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
    what="Text follows the closing brace of the definition.",
    why="Some files in old Kafka releases have such text, and Kafka's own reader ignored it. kwirec also ignores the "
    "text, but warns because a second definition in the file would be lost.",
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
    why="A later change may update only one of the two. This is only a warning because some definitions of Kafka 3.9 "
    "repeat attributes.",
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
    what="A folder or archive contains no message definitions.",
    why="A mistyped path would otherwise pass every check.",
    offending="kwirec check docs/",
    corrected="kwirec check message_defs/",
)

WRONG_KIND = Code(
    number="K010",
    name="wrong-kind",
    what="An attribute has a value of the wrong JSON type, such as a list instead of a string.",
    why="Numbers and booleans written as strings, and single values instead of lists, are accepted because Kafka's "
    "releases contain them. Any other wrong type is an error.",
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
    why="A message needs a type, a name and valid versions. Unless its valid versions are `none`, it also needs "
    "fields. A field needs a name, a type and versions (or tagged versions). An enum needs a name, a type for its "
    "values, and the values themselves.",
    offending=clock(field("Millis", "int64", versions=ABSENT)),
    krammar=krammar().replace("key 900, ", ""),
    corrected=clock(field("Millis", "int64")),
)

BAD_VERSION_RANGE = Code(
    number="K014",
    name="bad-version-range",
    what="A version range is not written as `N`, `N-M`, `N+` or `none`, or a bound does not fit an int16.",
    why="kwirec does not guess, because `1..3` or `<4` can be understood in different ways.",
    offending=clock(validVersions="0..2"),
    krammar=krammar("  Hour: int8 // v1"),
    corrected=clock(),
    fixable=True,
)

BAD_TYPE = Code(
    number="K015",
    name="bad-type",
    what="A type is neither a name nor `[]` followed by a name.",
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
    what="An error in `errors.json` has a code outside the range of int16, a name that does not consist of capital "
    "letters, "
    "digits and underscores, the code or name of another error, or a `since` that is not a release.",
    why="Codes are encoded as int16, and names become the members of an enum in the generated package. "
    "A release consists of numbers separated by dots.",
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
    why="The indentation of a line determines the struct of a field. Each level is indented by two more spaces.",
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
    why="franz-go's generator refuses the file. Files without a suffix are in franz-go's dialect. With `--dialect "
    "franz-go`, all files in the indentation notation are.",
    severity=Severity.NOTE,
    relaxable=True,
    offending=krammar("  Hour: int8 // ignorable", name="00_clock"),
    corrected=krammar("  Hour: int8", name="00_clock"),
)

WRONG_IN_FRANZ_GO = Code(
    number="K023",
    name="wrong-in-franz-go",
    what="The code that franz-go's generator makes from a definition writes different bytes from Kafka's. The "
    "definition has a field with a tag and versions, a nullable tagged struct, or a named struct without `flexible` "
    "in a flexible message.",
    why="Peers misread the message, and no error points to the cause.",
    severity=Severity.WARNING,
    relaxable=True,
    offending=krammar("  Hour: int8 // v2+, tag 0", name="00_clock"),
    corrected=krammar("  Hour: int8 // tag 0", name="00_clock"),
)

UNKNOWN_NOTATION = Code(
    number="K024",
    name="unknown-notation",
    what="A file without a known suffix starts neither with `{` nor with the head of a struct or enum.",
    why="Such a file is probably not a definition.",
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
    why="The version at the start of such a struct determines how the other fields are read.",
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
    what="The command found more than 10,000 problems and omitted the rest.",
    why="An unlimited list would need unlimited memory. Fix the first findings, and run the command again.",
    offending="kwirec check captures/",
    corrected="kwirec check message_defs/",
)

UNKNOWN_TYPE = Code(
    number="K101",
    name="unknown-type",
    what="The type of a field is neither a primitive type nor a struct of its message.",
    why=f"Names in lower case are primitives: {', '.join(NUMBERS)}, string, uuid, bytes and records. "
    "Capitalised names are structs, which are defined inline by the `fields` of a field, or in `commonStructs`.",
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
    what="A default is not valid for the type of its field. For example, a number is out of range, or the default of "
    "an array is neither empty nor `null`.",
    why="Integers are decimal or hexadecimal (`0x7fffffff`) and must be in range. A bool is `true` or `false`. A "
    "uuid is 16 bytes in base64. The default of bytes, arrays and structs is empty or `null`.",
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
    what="The `enum` of a field is not the name of a known enum.",
    why="The values of the field have no names, as if the attribute were absent. An enum is a definition of type "
    "`enum`, in any "
    "of the compiled files. This is only a warning because the enum may be missing when you compile a part of a "
    "protocol.",
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
    why="Fields refer to an enum by its name. All files that are compiled together share one namespace for enums.",
    offending=files(enum(value("NEW", 0)), enum(value("FULL", 1))),
    corrected=files(enum(value("NEW", 0)), enum(value("FULL", 1), name="Tide")),
)

USED_BEFORE_DEFINED = Code(
    number="K110",
    name="used-before-defined",
    what="A field has the type of a named struct that is defined further down, or in a later file.",
    why="franz-go reads files in the order of their names, each from its start, and refuses a type that is not yet "
    "defined.",
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
    why="Only Kafka's records have such fields. `kwire.records` reads records without definitions.",
    offending=krammar("  Hour: varint"),
    corrected=krammar("  Hour: int32"),
)
