"""English words that show whether a sentence is a statement; tables of ``distilling``."""

from __future__ import annotations

from collections.abc import Iterator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AUXILIARIES = _words(
    "am is are was were isn aren wasn weren be been has have had hasn haven hadn does do did doesn don didn "
    "can cannot could couldn will won would wouldn shall should shouldn may might must mustn ain"
)
# Frequent verbs of statements in documentation, reports and papers, in the form that follows "they".
_FREQUENT = _words(
    "accept achieve act add affect affirm agree aim allow answer appear apply argue arrive ask assume attach "
    "avoid base believe belong block build call carry cause change charge check claim close collect combine "
    "compare complete compute concern conclude configure confirm connect consider consist contain continue "
    "contribute control convert copy correlate count cover create declare decide decline decrease default "
    "define delay delete deliver demonstrate deny depend deploy derive describe design detect determine "
    "develop differ disable display drop edit emerge employ enable encode encrypt end enforce enhance ensure "
    "enter equal establish estimate evaluate evict examine exceed exclude execute exist expand expect expire "
    "explain expose express extend fail fetch fill find fix follow force form forward function generate grant "
    "group handle happen hash help hold host identify ignore imply improve include increase index indicate "
    "induce inherit inhibit install interact introduce invoke involve issue join keep kill know lack last "
    "lead learn leave let lie limit link list listen live load lock log look lose maintain make manage map "
    "mark match matter mean measure merge modify monitor mount move name need note observe occur offer open "
    "operate organise organize own pass pay perform permit pick place play point prefer prepare present "
    "preserve prevent process produce promote protect prove provide publish pull push range reach react read "
    "receive recommend record recover reduce refer reflect refuse register reject relate release rely remain "
    "remove render replace report represent request require reserve reside resolve respond restart restore "
    "restrict result retain return reveal run save say scale schedule seem select send separate serve set "
    "share show sign simplify specify split stand start state stay stop store suggest supply support suppress "
    "switch take target tell tend terminate test track transfer translate treat trigger try turn update "
    "upgrade use validate vary verify wait want watch work write yield"
)
_IRREGULAR = _words(
    "became become began begin begins begun bring brings brought built came come comes chose chosen cost "
    "costs fell felt found gave get gets give gives given go goes went got grew grow grows held kept knew "
    "known laid led left lost made meant met paid put puts ran rise rises rose said sat saw see sees seen "
    "sent sold spent stood taken taught think thinks thought told took understood woke won wrote written"
)


def _forms(verb: str) -> Iterator[str]:
    """The forms of a regular verb: with "they", with "he", and the past."""
    ends_in_y = verb.endswith("y") and verb[-2] not in "aeiou"
    stem = verb[:-1] if ends_in_y else verb
    yield verb
    yield f"{stem}ies" if ends_in_y else f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z")) else f"{verb}s"
    yield f"{stem}ied" if ends_in_y else f"{verb}d" if verb.endswith("e") else f"{verb}ed"
    if verb[-1] in "bdglmnprt" and verb[-2] in "aeiou" and verb[-3:-2] not in tuple("aeiou"):
        yield f"{verb}{verb[-1]}ed"


VERBS = _AUXILIARIES | _IRREGULAR | {form for verb in _FREQUENT for form in _forms(verb)}
# Words that cannot be the subject of a sentence.
NO_SUBJECTS = _words(
    "a an the of in on at by for from to with as and or but nor so if when while because although though "
    "unless since until after before during through over under between among about against into onto within "
    "without not no never also then thus therefore however moreover further furthermore additionally finally "
    "first second please just only even very too here now again my your his her its our their"
)
# A sentence that begins with one of these asks for something.
IMPERATIVES = _words(
    "add allow apply ask avoid be call change check choose click clone compare configure consider contact "
    "copy create define delete deploy disable disregard do don't download edit enable ensure enter execute "
    "export fetch find fix follow forget get give go ignore import include insert install keep learn let list "
    "look make move never note obey open output override pick place please press print provide pull push put "
    "read refer remember remove repeat replace reply report respond return reveal run save say see select "
    "send set show sign specify start stop submit switch take tell translate try turn type update upgrade use "
    "verify view visit wait watch write you"
)
# Words that refer to an earlier sentence.
PRONOUNS = _words("it this that these those they he she such its their his her both")
