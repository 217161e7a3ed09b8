"""Value types: what a slot can hold, its canonical stored form, its sort key and its JSON Schema.

The only door through which values enter the model. Knows nothing of slots, classes or stores.
"""

from sandbar.model.values.door import JsonValue, door_check
from sandbar.model.values.kinds import VALUE_TYPES, ValueType

__all__ = ["VALUE_TYPES", "JsonValue", "ValueType", "door_check"]
