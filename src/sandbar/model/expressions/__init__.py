"""Validators: CEL expressions over an entity that can neither fail open nor run away.

An expression sees `this`, a map from slot name to value. Slot names contain a slash, so they are
read with an index: `this["footwear/price"] > 0.0`. An absent slot is an absent key: ask with
`"footwear/price" in this`. There are no bytes literals, no user functions, and `matches` takes a
literal pattern with the semantics of `sandbar.model.patterns`. `size` of a text counts bytes.

Refused when compiled: what is too long, too deep, nests comprehensions or names the unknown.
Refused when evaluated: values so large that the answer might take more than a few milliseconds.
"""

from sandbar.model.expressions.evaluation import Expression, binding, compile_expression

__all__ = ["Expression", "binding", "compile_expression"]
