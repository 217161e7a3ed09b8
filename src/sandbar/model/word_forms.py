"""The forms in which an English word may stand in a text: plural, past, -ing, and its nouns.

The index holds words as they are written. So a search asks for the forms that a word may have, the
likely ones by rule and the others by a list. A form that no text has costs one look into the index;
one that is too much finds too much. So the rules are careful: `plan` is not `plane`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

AS_WRITTEN = 1.0
INFLECTED = 0.9
DERIVED = 0.7

_LETTERS_MIN, _LETTERS_MAX = 3, 24
_DERIVED_LETTERS_MIN = 4

# Families that no rule finds; any member stands for all.
_FAMILIES = """
begin begins began begun beginning|break breaks broke broken breaking breakage|bring brings
brought bringing|build builds built building|buy buys bought buying|catch catches caught
catching|choose chooses chose chosen choosing choice choices|cost costs costing|cut cuts
cutting|deal deals dealt dealing|draw draws drew drawn drawing|drive drives drove driven driving
driver drivers|eat eats ate eaten eating|fall falls fell fallen falling|feel feels felt
feeling|feed feeds fed feeding|find finds found finding findings|fight fights fought fighting|fly
flies flew flown flying flight flights|forget forgets forgot forgotten|freeze freezes froze frozen
freezing|grow grows grew grown growing growth|hang hangs hung hanging|hear hears heard
hearing|hide hides hid hidden hiding|hit hits hitting|hold holds held holding holder|keep keeps
kept keeping|lay lays laid laying|lead leads led leading|leave leaves left leaving|lend lends
lent|lose loses lost losing loss losses|make makes made making maker|mean means meant meaning|meet
meets met meeting meetings|pay pays paid paying payment payments payer|put puts putting|read reads
reading reader readers|ride rides rode ridden riding|ring rings rang rung ringing|rise rises rose
risen rising|run runs ran running runner runners|say says said saying|see sees saw seen
seeing|sell sells sold selling seller sale sales|send sends sent sending sender senders|set sets
setting|shake shakes shook shaken|shoot shoots shot shooting|shut shuts shutting|sit sits sat
sitting|sleep sleeps slept sleeping|speak speaks spoke spoken speaking speech|spend spends spent
spending|split splits splitting|spread spreads spreading|stand stands stood standing|steal steals
stole stolen stealing theft thefts thief|stick sticks stuck sticking|swim swims swam swum
swimming|take takes took taken taking|teach teaches taught teaching teacher|think thinks thought
thinking|throw throws threw thrown throwing|understand understands understood understanding|wake
wakes woke woken waking|wear wears wore worn wearing|win wins winning winner|write writes wrote
written writing writer|decide decides decided deciding decision decisions|die dies died dying
death deaths dead|try tries tried trying trial trials|prove proves proved proven proving proof
proofs|believe believes believed belief|advise advised advice|analyse analyses analysed analysing
analysis analyze analyzes analyzed analyzing|weigh weighs weighed weight weights|fail fails failed
failing failure failures|sign signs signed signing signature signatures|refuse refuses refused
refusing refusal|respond responds responded response responses|compare compares compared comparing
comparison comparisons|describe describes described description descriptions|subscribe subscribes
subscribed subscriber subscribers subscription subscriptions|receive receives received receiving
receipt receipts|explain explains explained explaining explanation|maintain maintains maintained
maintaining maintenance|perform performs performed performing performance|depend depends depended
depending dependency dependencies|deliver delivers delivered delivering delivery
deliveries|discover discovers discovered discovering discovery|recover recovers recovered
recovering recovery|solve solves solved solving solution solutions|permit permits permitted
permission permissions|exclude excludes excluded excluding exclusion|include includes included
including inclusion|extend extends extended extending extension extensions|expand expands expanded
expanding expansion|convert converts converted converting conversion conversions|store stores
stored storing storage|use uses used using usage user users|insure insures insured insurance
insurer insurers|erase erases erased erasing erasure|expire expires expired expiring expiry
expiration|enter enters entered entering entry entries|vary varies varied varying variation
variant variants|child children|person people persons|man men|woman women|foot feet|tooth
teeth|mouse mice|life lives|wife wives|knife knives|leaf leaves|half halves|shelf shelves|loaf
loaves|medium media|index indexes indices indexing indexed|criterion criteria|matrix
matrices|appendix appendices|mail mails mailed email emails|licence license licences licenses
licensed|centre center centres centers|tyre tyres tire tires|grey gray|colour color colours
colors|behaviour behavior behaviours behaviors|programme program programs programmes|metre meter
metres meters|auth authentication authenticate authenticated|config configs configuration
configurations configure configured|repo repos repository repositories|doc docs documentation|app
apps application applications|admin admins administrator administrators|info information|db
database databases|prod production|dev development|env environment environments|spec specs
specification specifications|photo photos photograph photographs|phone phones telephone|bike bikes
bicycle bicycles|fridge refrigerator|lab labs laboratory|exam exams examination|ad ads advert
advertisement|approve approves approved approving approval approvals|remove removes removed
removing removal
"""


def _families() -> dict[str, dict[str, None]]:
    known: dict[str, dict[str, None]] = {}
    for family in _FAMILIES.split("|"):
        members = dict.fromkeys(family.split())
        for member in members:
            known.setdefault(member, {}).update(members)
    return known


_OF_FAMILY = _families()
_VOWEL = re.compile(r"[aeiouy]")
_SHORT = re.compile(r"[^aeiou]*[aeiouy][^aeiouwxy]")  # plan, stop: the last letter is doubled
_DOUBLED = re.compile(r"([bdglmnprtv])\1$")
_HISSING = re.compile(r"(?:s|x|z|ch|sh|o)$")


@lru_cache(maxsize=4096)
def forms_of(word: str) -> dict[str, float]:
    """The forms that a word may have, each with what finding it is worth; itself first."""
    forms = {word: AS_WRITTEN}
    if not (_LETTERS_MIN <= len(word) <= _LETTERS_MAX and word.isascii() and word.isalpha()):
        return forms
    family = _OF_FAMILY.get(word)
    if family is not None:
        _add(forms, family, INFLECTED)
        return forms
    roots = list(_roots(word))
    if roots:
        _add(forms, (word[:-1] if word.endswith("s") else word + "s",), INFLECTED)
        for root in roots:
            _add(forms, (root, *_OF_FAMILY.get(root, ()), *_inflections(root)), DERIVED)
        return forms
    bases = list(_bases(word))
    for base in bases:
        _add(forms, (base, *_OF_FAMILY.get(base, ()), *_inflections(base)), INFLECTED)
    for base in bases:
        doer = base.removesuffix("er")
        if doer != base and len(doer) >= _DERIVED_LETTERS_MIN:  # a tester tests
            for root in _unstuck(doer):
                _add(forms, (root, *_inflections(root)), DERIVED)
        elif len(base) >= _DERIVED_LETTERS_MIN:
            _add(forms, _derivations(base), DERIVED)
    return forms


def _add(forms: dict[str, float], more: Iterable[str], worth: float) -> None:
    for form in more:
        forms.setdefault(form, worth)


def _is_stem(stem: str) -> bool:
    return len(stem) >= _LETTERS_MIN and _VOWEL.search(stem) is not None


def _bases(word: str) -> Iterator[str]:
    """The words that this one may be an inflection of; itself, if it looks like none."""
    if word.endswith(("ies", "ied")) and len(word) > 4:
        yield word[:-3] + "y"
    elif word.endswith("ing") and _is_stem(word[:-3]):
        yield from _unstuck(word[:-3])
    elif word.endswith("ed") and _is_stem(word[:-2]) and not word.endswith("eed"):
        yield from _unstuck(word[:-2])
    elif word.endswith("es") and _HISSING.search(word[:-2]) and _is_stem(word[:-2]):
        yield word[:-2]
        if word[-3] in "sz":
            yield word[:-1]  # releases, sizes
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and _is_stem(word[:-1]):
        yield word[:-1]
    else:
        yield word


def _unstuck(stem: str) -> Iterator[str]:
    """What -ing or -ed was stuck to: planned, billed, hoped, failed, merged."""
    if _DOUBLED.search(stem):
        yield stem[:-1]
        if stem.endswith("ll"):
            yield stem
    elif _SHORT.fullmatch(stem):
        yield stem + "e"
    else:
        yield stem
        if not stem.endswith(("e", "w", "x", "y", "ss")):
            yield stem + "e"


def _inflections(base: str) -> Iterator[str]:
    if base.endswith("e"):
        yield from (base + "s", base + "d", base[:-1] + "ing")
    elif base.endswith("y") and base[-2] not in "aeiou":
        yield from (base[:-1] + "ies", base[:-1] + "ied", base + "ing")
    else:
        yield base + ("es" if _HISSING.search(base) else "s")
        stem = base + base[-1] if _SHORT.fullmatch(base) else base
        yield from (stem + "ed", stem + "ing")
        if stem == base and base[-1] in "lrt" and base[-2] in "aeio":  # travelled, transferred
            yield from (base + base[-1] + "ed", base + base[-1] + "ing")


_ENDINGS = (
    ("isation", ("ise", "ize")),
    ("ization", ("ize", "ise")),
    ("ication", ("ify", "icate")),
    ("ation", ("ate", "e", "")),
    ("ssion", ("ss",)),
    ("sion", ("d", "de", "se")),
    ("ction", ("ct",)),
    ("ption", ("pt",)),
    ("ition", ("e", "it")),
    ("tion", ("te", "t")),
    ("ment", ("",)),
    ("ness", ("",)),
    ("ator", ("ate",)),
)


def _roots(word: str) -> Iterator[str]:
    """The words that this one may be derived from: migration, connection, deployment."""
    single = word[:-1] if word.endswith("s") and not word.endswith("ss") else word
    for ending, instead in _ENDINGS:
        stem = single.removesuffix(ending)
        if stem != single and _is_stem(stem):
            # A short stem is whole already, or it would be another word: rotation, rot.
            yield from (stem + end for end in instead[: None if len(stem) > 4 else 1])
            return


def _derivations(base: str) -> Iterator[str]:
    if base.endswith(("ise", "ize")):
        other = base[:-2] + ("ze" if base[-2] == "s" else "se")
        yield from (other, other + "d", base[:-1] + "ation", other[:-1] + "ation")
    elif base.endswith("ify"):
        yield base[:-1] + "ication"
    elif base.endswith("te"):
        yield from (base[:-1] + "ion", base[:-1] + "ions", base[:-1] + "or", base[:-1] + "ors")
    elif base.endswith("e"):
        yield from (base[:-1] + "ation", base[:-1] + "al", base + "ment", base + "r", base + "rs")
    elif base.endswith("y"):
        yield from (base + "ment", base + "ments")
    else:
        stem = base + base[-1] if _SHORT.fullmatch(base) else base
        yield from (stem + "er", stem + "ers", base + "ment", base + "ments")
        if base[-1] in "tsmnr":
            yield base + "ation"
        if base[-1] in "ts":
            yield from (base + "ion", base + "ions", base + "or")
