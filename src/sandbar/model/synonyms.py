"""What is said elsewhere (SQL, JSON Schema, other stores) for what has another name here.

Whoever writes `integer`, `enum` or `$gt` is told the word of this place, and what to type.
"""

from __future__ import annotations

import re
from typing import Any

from sandbar.model.values.refusals import typed

_TYPES = {
    "string": "str text char character varchar nvarchar longtext mediumtext clob email phone "
    "markdown html string",
    "long": "int integer int4 int8 int16 int32 int64 smallint tinyint serial count "
    "unsigned long year",
    "double": "number float float32 float64 real double doubleprecision",
    "bigdec": "decimal numeric money currency price bigdec bigdecimal",
    "bigint": "bigint biginteger",
    "boolean": "bool boolean bit flag",
    "instant": "date datetime timestamp timestamptz time instant",
    "json": "json jsonb object dict map record struct hash any mixed",
    "bytes": "bytes binary blob bytea file base64",
    "uuid": "uuid guid",
    "uri": "uri url link href",
    "keyword": "keyword",
    "symbol": "symbol",
    "tuple": "tuple",
}
_TYPE_OF = {word: f"db.type/{name}" for name, words in _TYPES.items() for word in words.split()}
_SEVERAL = frozenset({"list", "array", "set", "collection", "many", "sequence", "multiple"})
_CHOICE = frozenset({"enum", "enumeration", "choice", "select", "option", "status"})
_REFERENCE = frozenset(
    {"ref", "reference", "relation", "relationship", "foreignkey", "fk", "entity", "belongsto"}
)
# Namespaces in which a value type is looked for; in any other it is a class that was meant.
_TYPE_NAMESPACES = ("", "db.type", "db", "dt", "type", "types", "xsd", "xs", "schema", "sql", "rdf")

_MANY = '"db/cardinality": "many"'
_BOUND = "of text it counts the characters"
_PROPERTY_KEYS = {
    "dt/range": "range type datatype valuetype kind format class target targetclass",
    "dt/one-of": "oneof enum enumeration options choices values allowed allowedvalues select",
    "dt/required?": "required mandatory notnull nonnull isrequired",
    "db/unique": "unique isunique key identity primarykey primary pk id",
    "dt/default": "default defaultvalue initial",
    "dt/pattern": "pattern regex regexp match matches",
    "dt/min": "min minimum minlength minvalue atleast",
    "dt/max": "max maximum maxlength maxvalue length size atmost",
    "db/doc": "doc docs description comment help documentation note notes",
    "dt/label": "label title displayname caption",
    "dt/indexed?": "index indexed isindexed sortable searchable",
    "dt/component?": "component owned embedded cascade ondelete composition",
    "dt/secret?": "secret password hidden writeonly encrypted private",
    "dt/inverse-of": "inverse inverseof backref relatedname reverse",
    "db/ident": "name ident",
    "dt/domain": "domain",
}
_CLASS_KEYS = {
    "dt/slots": "slots properties fields attributes columns props members slot",
    "dt/subclass-of": "subclassof extends parent parents super superclass superclasses inherits "
    "base isa allof",
    "dt/abstract?": "abstract isabstract",
    "dt/validator": "validator check constraint constraints validate validation rule rules",
    "db/doc": "doc docs description comment help documentation note notes",
    "dt/label": "label title displayname caption",
    "db/ident": "name ident id",
}
_KEY_OF = {
    kind: {word: key for key, words in table.items() for word in words.split()}
    for kind, table in (("dt/Property", _PROPERTY_KEYS), ("dt/Class", _CLASS_KEYS))
}
# How a key is given, for those whose values differ from what is said elsewhere.
_GIVEN = {
    "dt/one-of": 'as in "dt/one-of": ["open", "paid"]',
    "dt/required?": 'as in "dt/required?": true',
    "db/unique": 'as in "db/unique": "identity"',
    "dt/pattern": 'as in "dt/pattern": "^[A-Z]+$"',
    "dt/min": f'as in "dt/min": 1; {_BOUND}',
    "dt/max": f'as in "dt/max": 80; {_BOUND}',
    "dt/indexed?": 'as in "dt/indexed?": true',
    "dt/slots": 'as in "dt/slots": ["person/name"]: each is defined under properties',
    "dt/subclass-of": 'as in "dt/subclass-of": ["dt/Ref"]',
    "dt/abstract?": 'as in "dt/abstract?": true',
    "db/ident": 'which is the key of the definition, as in {"person/age": {…}}: leave it out',
}
_OPERATORS = {
    "=": "eq equal equals is == ===",
    "!=": "ne neq noteq notequal isnot <>",
    "<": "lt less lessthan before",
    "<=": "lte le atmost",
    ">": "gt greater greaterthan after",
    ">=": "gte ge atleast",
    "in": "in anyof oneof any",
    "contains": "contains like ilike includes include has match matches regex regexp substring",
    "starts-with": "startswith prefix beginswith begins",
    "exists": "exists exist isnull null notnull isnotnull isempty present missing",
}
_OPERATOR_OF = {word: op for op, words in _OPERATORS.items() for word in words.split()}
_NEGATED = {"nin": "in", "notin": "in", "notlike": "contains", "notcontains": "contains"}
_CONNECTIVES = {
    "and": 'use "and": [filter, …]',
    "or": 'use "or": [filter, …]',
    "not": 'use "not": filter',
}
_PRESENT = ("notnull", "isnotnull", "present", "exist", "exists")
_IDS = "ids are given by the database: leave it out; a db/ident (ns/name) names an entity"
_OPERATIONS = {
    "create": "insert add new put make post",
    "update": "upsert patch modify set change edit merge",
    "delete": "remove drop destroy erase",
    "restore": "undelete undo revert",
    "migrate": "transform",
}
_OPERATION_OF = {word: op for op, words in _OPERATIONS.items() for word in words.split()}
_NOT_A_LETTER = re.compile(r"[^a-z0-9]")
_SEVERAL_OF = re.compile(r"(?:list|array|set|sequence)\s*(?:of\s+|[<\[(]\s*)([^>\])]+)[>\])]?")
_WORD_MAX = 100


def range_meant(given: object) -> str | None:
    """What a range is called here, as the beginning of a hint."""
    if not isinstance(given, str) or len(given) > _WORD_MAX:
        return None
    text = given.removeprefix(":").strip().lower().replace(":", "/")
    several = _SEVERAL_OF.fullmatch(text)
    if several is not None or text.endswith("[]"):
        single = _type_of(text[:-2] if several is None else several[1])
        return f'use "dt/range": "{single}" with {_MANY}' if single else None
    namespace, _, last = text.rpartition("/")
    if namespace not in _TYPE_NAMESPACES:
        return None
    word = _word(last)
    if (meant := _type_of(last)) is not None:
        return f'use "dt/range": "{meant}"'
    if word in _SEVERAL:
        return f'use the range of one value, as in "dt/range": "db.type/string", with {_MANY}'
    if word in _CHOICE:
        return 'use "dt/range": "db.type/keyword" with "dt/one-of": [the values]'
    if word in _REFERENCE:
        return 'use the class that it refers to as dt/range, or "db.type/ref" for any entity'
    return None


def _type_of(text: str) -> str | None:
    """The value type that a word means, be it with a length such as varchar(255)."""
    return _TYPE_OF.get(_word(text.rpartition("/")[2].partition("(")[0]))


def slot_meant(kinds: frozenset[str], name: str, given: Any) -> str | None:
    """What a key of a definition is called here; `kinds` are the classes of what is defined."""
    kind = next((kind for kind in _KEY_OF if kind in kinds), None)
    word = _word(name.removeprefix(":").rpartition("/")[2])
    if kind is None:
        return _IDS if word in ("id", "entityid", "uid") else None
    key = _KEY_OF[kind].get(word)
    if kind == "dt/Property":
        if word in _SEVERAL or word == "cardinality":
            return f"use {_MANY}"
        if word in ("nullable", "optional"):
            return 'use "dt/required?": true for a slot that must have a value'
        if word in _REFERENCE or word == "references":
            return 'use the class that it refers to as dt/range, as in "dt/range": "crm/Company"'
        if key == "dt/range":
            return range_meant(given) or "use dt/range: a value type or a class"
    elif word == "required":
        return 'give each property that must have a value "dt/required?": true'
    if key is None:
        return None
    return f"use {key}, {_GIVEN[key]}" if key in _GIVEN else f"use {key}"


def operator_meant(given: object, operand: object) -> str | None:
    """What a comparison is called here, with its operand."""
    text = given if isinstance(given, str) and len(given) <= _WORD_MAX else ""
    word = _word(text)
    if word == "between" and isinstance(operand, list) and len(operand) == 2:
        return f"use {typed({'>=': operand[0], '<=': operand[1]})}"
    if word in _NEGATED:
        return f'use "not": {{slot: {typed({_NEGATED[word]: operand})}}} beside the other slots'
    op = _OPERATOR_OF.get(word) or _OPERATOR_OF.get(text)
    if op == "exists":
        return f"use {typed({'exists': (word in _PRESENT) is (operand is not False)})}"
    if op == "contains" and isinstance(operand, str):
        bare = operand.strip("%*")
        is_prefix = operand.startswith(bare) and operand != bare
        return f"use {typed({'starts-with' if is_prefix else 'contains': bare})}"
    return None if op is None else f"use {typed({op: operand})}"


def operation_meant(given: object) -> str | None:
    """What an operation of a transaction is called here."""
    op = _OPERATION_OF.get(_word(given)) if isinstance(given, str) else None
    return None if op is None else f'use "op": "{op}"'


def connective_meant(given: object) -> str | None:
    """`and`, `or`, `not`, if that is what a key of a filter was meant to be."""
    word = _word(given) if isinstance(given, str) else ""
    return _CONNECTIVES.get(word)


def _word(text: str) -> str:
    """A word without case and punctuation."""
    return _NOT_A_LETTER.sub("", text.lower())
