"""Words that questions are made of and that say nothing about what is asked for.

A search for `what is the plan for the garden` is one for `plan garden`. The list is short on
purpose: whatever may be what somebody looks for is not in it. Words of other languages are not,
either: those that are common in the text weigh little anyway.
"""

from __future__ import annotations

_COMMON = """
a an the this that these those there here it its itself he him his she her hers they them their
theirs we us our ours i me my mine you your yours one ones
who whom whose what which when where why how whether
is are was were be been being am do does did doing done have has had having can could may might
must shall should will would ought need needs let lets
and or but nor so if then than as because while though although since until unless
of to in on at by for from with without about into onto over under up out off down between
during before after again also too very just only even still yet ever already any some all both
each every either neither no not none nothing something anything someone somebody anyone
anybody everyone everybody everything other others another such same own more most many much
few less least
get gets got getting go goes going come comes know tell show give please happen happens happened
thing things way kind sort
ca wo ain don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn
s t ll re ve d m
"""
_PARTICLES = "up out off in on down over back"

COMMON_WORDS = frozenset(_COMMON.split())

PARTICLES = frozenset(_PARTICLES.split())
"""Two words that may be written as one: sign up, signup."""
