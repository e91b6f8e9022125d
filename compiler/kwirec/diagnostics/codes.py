"""The codes of the first passes: K0xx for reading and parsing, K1xx for resolving.

The codes of the rules stand beside their checks in ``kwirec.validation``; ``kwirec.catalogue`` lists them all.
"""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Code, Severity

UNREADABLE = Code(
    number="K001",
    name="unreadable",
    what="A path that was named cannot be read: it does not exist, access is denied or an archive is damaged.",
    why="Going on without it would silently compile a smaller protocol than was asked for.",
    offending="kwirec check message_dfes/",
    corrected="kwirec check message_defs/",
)

NOT_UTF8 = Code(
    number="K002",
    name="not-utf8",
    what="A definition file holds bytes that are not UTF-8.",
    why="Every offset and column would be a guess, and descriptions would be garbled in the generated code.",
    offending='{ "type": "data", "about": "\\xff", … }',
    corrected='{ "type": "data", "about": "ÿ", … } saved as UTF-8',
)

UNTERMINATED = Code(
    number="K003",
    name="unterminated",
    what="A string, block comment, list or object is opened and never closed.",
    why="Everything behind the opening would be taken for its content.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": []""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

BAD_ESCAPE = Code(
    number="K004",
    name="bad-escape",
    what="A string holds a backslash sequence that JSON does not know.",
    why="It would mean one thing to us and another to the next JSON reader.",
    offending=r"""{ "type": "data", "name": "Clock", "about": "Time in \q.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
    corrected=r"""{ "type": "data", "name": "Clock", "about": "Time in \"q\".", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

UNEXPECTED_TOKEN = Code(
    number="K005",
    name="unexpected-token",
    what="The JSON grammar wants something else at this place: a comma, a colon, a value, a bracket.",
    why="A missing comma usually means that an attribute was added in a hurry; what follows could be misread.",
    offending="""{ "type": "data" "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

TRAILING_TOKENS = Code(
    number="K006",
    name="trailing-tokens",
    what="Something follows the closing brace of the definition.",
    why="Old Kafka releases contain such files and their reader ignored the rest; so do we, but a second "
    "definition in one file would be lost, hence the warning.",
    severity=Severity.WARNING,
    relaxable=True,
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] } }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

EMPTY_FILE = Code(
    number="K007",
    name="empty-file",
    what="A file has no definition in it, only white space or comments.",
    why="An empty definition file is a lost definition more often than it is meant.",
    offending="// to be written",
    corrected="""// A moment in time.
{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0", "flexibleVersions": "0+",
  "fields": [] }""",
)

REPEATED_ATTRIBUTE = Code(
    number="K008",
    name="repeated-attribute",
    what="The same attribute is written twice in one object, with the same value.",
    why="Nothing is lost, and Kafka 3.9 has such files, but the next change may reach only one of the two.",
    severity=Severity.WARNING,
    relaxable=True,
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

NO_DEFINITIONS = Code(
    number="K009",
    name="no-definitions",
    what="A folder or archive that was named holds no message definition.",
    why="A mistyped path would otherwise pass every check.",
    offending="kwirec check docs/",
    corrected="kwirec check message_defs/",
)

WRONG_KIND = Code(
    number="K010",
    name="wrong-kind",
    what="An attribute has a value of the wrong JSON kind: a list where a string belongs, a word for a number.",
    why="Kafka's releases write some numbers and booleans as strings and some lists as single values; these are "
    "accepted. Everything else has no meaning.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": ["0"],
  "flexibleVersions": "0+", "fields": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

UNKNOWN_ATTRIBUTE = Code(
    number="K011",
    name="unknown-attribute",
    what="A message, struct or field has an attribute that does not exist.",
    why="A misspelt `nullableVersions` would otherwise be a field that is never nullable, on every release to come.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "feilds": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

DUPLICATE_ATTRIBUTE = Code(
    number="K012",
    name="duplicate-attribute",
    what="The same attribute is written twice in one object, with different values.",
    why="JSON readers disagree about which of the two counts.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0", "validVersions": "0-1",
  "flexibleVersions": "0+", "fields": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0-1",
  "flexibleVersions": "0+", "fields": [] }""",
)

MISSING_ATTRIBUTE = Code(
    number="K013",
    name="missing-attribute",
    what="A message, struct or field lacks an attribute that it cannot do without.",
    why="A message needs a type, a name and its valid versions, and unless it has no versions also fields; a field "
    "needs a name, a type and versions (or tagged versions).",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Millis", "type": "int64", "about": "Milliseconds since the epoch." } ] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Millis", "type": "int64", "versions": "0+",
                "about": "Milliseconds since the epoch." } ] }""",
)

BAD_VERSION_RANGE = Code(
    number="K014",
    name="bad-version-range",
    what="A range of versions is not written as `N`, `N-M`, `N+` or `none`, or a bound does not fit an int16.",
    why="There is no safe guess: `1..3` or `<4` may mean different versions to different people.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0..2",
  "flexibleVersions": "0+", "fields": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0-2",
  "flexibleVersions": "0+", "fields": [] }""",
)

BAD_TYPE = Code(
    number="K015",
    name="bad-type",
    what="A type is not a name with any number of `[]` before it.",
    why="`[]` needs an element type, and names consist of letters and digits.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Ticks", "type": "int64[]", "versions": "0+", "about": "All ticks." } ] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Ticks", "type": "[]int64", "versions": "0+", "about": "All ticks." } ] }""",
)

UNKNOWN_MESSAGE_TYPE = Code(
    number="K016",
    name="unknown-message-type",
    what="The `type` of a message is none of request, response, header, data, metadata, coordinator-key and "
    "coordinator-value.",
    why="The type decides which attributes a message needs and how its bytes are framed.",
    offending="""{ "type": "reqest", "name": "ClockRequest", "about": "Asks for the time.", "apiKey": 900,
  "validVersions": "0", "flexibleVersions": "0+", "fields": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

UNKNOWN_TYPE = Code(
    number="K101",
    name="unknown-type",
    what="A field has a type that is neither a primitive nor a struct of its message.",
    why="Names in lower case are primitives: bool, int8, int16, uint16, int32, uint32, int64, float64, string, "
    "uuid, bytes, records. Capitalised names are structs, defined inline by the field's own `fields` or once in "
    "`commonStructs`.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Zone", "type": "strng", "versions": "0+", "about": "Name of the zone." } ] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Zone", "type": "string", "versions": "0+", "about": "Name of the zone." } ] }""",
)

STRUCT_REDEFINED = Code(
    number="K102",
    name="struct-redefined",
    what="Two structs of one message have the same name.",
    why="The name of an inline struct is its field's type, and a message has one name space for all its structs; "
    "each becomes a class.",
    offending="""{ "type": "data", "name": "Clock", "about": "Two times.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [
    { "name": "Start", "type": "Time", "versions": "0+", "about": "First.", "fields": [
      { "name": "Millis", "type": "int64", "versions": "0+", "about": "Since the epoch." } ] },
    { "name": "Stop", "type": "Time", "versions": "0+", "about": "Last.", "fields": [
      { "name": "Millis", "type": "int64", "versions": "0+", "about": "Since the epoch." } ] } ] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "Two times.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [
    { "name": "Start", "type": "Time", "versions": "0+", "about": "First." },
    { "name": "Stop", "type": "Time", "versions": "0+", "about": "Last." } ],
  "commonStructs": [ { "name": "Time", "versions": "0+", "about": "A moment.", "fields": [
    { "name": "Millis", "type": "int64", "versions": "0+", "about": "Since the epoch." } ] } ] }""",
)

BAD_DEFAULT = Code(
    number="K103",
    name="bad-default",
    what="A default is not a value of its field's type: no number, out of range, or not `null` for what can only "
    "be empty or null.",
    why="Integers may be decimal or hexadecimal (`0x7fffffff`) and must fit; a bool is `true` or `false`; a uuid is "
    "the base64 of 16 bytes; bytes, arrays and structs default to empty, or to `null`.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Zone", "type": "int8", "versions": "0+", "default": "200",
                "about": "Quarter hours east of Greenwich." } ] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+",
  "fields": [ { "name": "Zone", "type": "int8", "versions": "0+", "default": "-1",
                "about": "Quarter hours east of Greenwich." } ] }""",
)

MESSAGE_REDEFINED = Code(
    number="K104",
    name="message-redefined",
    what="Two messages have the same name.",
    why="Every message becomes one class, and request logs identify messages by name.",
    offending="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }
--- another file ---
{ "type": "data", "name": "Clock", "about": "Another time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
    corrected="""{ "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }
--- another file ---
{ "type": "data", "name": "Alarm", "about": "Another time.", "validVersions": "0",
  "flexibleVersions": "0+", "fields": [] }""",
)

FIRST_PASSES = (
    UNREADABLE,
    NOT_UTF8,
    UNTERMINATED,
    BAD_ESCAPE,
    UNEXPECTED_TOKEN,
    TRAILING_TOKENS,
    EMPTY_FILE,
    REPEATED_ATTRIBUTE,
    NO_DEFINITIONS,
    WRONG_KIND,
    UNKNOWN_ATTRIBUTE,
    DUPLICATE_ATTRIBUTE,
    MISSING_ATTRIBUTE,
    BAD_VERSION_RANGE,
    BAD_TYPE,
    UNKNOWN_MESSAGE_TYPE,
    UNKNOWN_TYPE,
    STRUCT_REDEFINED,
    BAD_DEFAULT,
    MESSAGE_REDEFINED,
)
