"""The table of agent skills: what each is for, which tool it needs, and which recipes go with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class AgentSkill:
    """A skill. ``name`` is that of its folder, ``description`` says a model when to read it.

    ``needs`` is the tool without which it is not offered, "" for none; ``section_needs`` the tools of its
    sections, by heading. ``recipes`` are headings of recipes, () for all of those in the server's help;
    ``has_sdk``: whether the reference of the SDK goes with it.
    """

    name: str
    description: str
    needs: str = ""
    section_needs: Mapping[str, str] = field(default_factory=dict)
    recipes: Sequence[str] = ()
    has_sdk: bool = False


# Recipes and the SDK are for authors of scripts.
SCRIPTS = "execute_code"
PLAYBOOK = "winnow-playbook"
AGENT_SKILLS: Sequence[AgentSkill] = (
    AgentSkill(
        PLAYBOOK,
        "How to answer from the user's own documents with winnow's tools in few calls and few tokens: which tool "
        "first, how to list or count everything, what to do when a call fails. Read it before the first search of "
        "a session.",
        recipes=("List all", "Count by", "Follow links"),
    ),
    AgentSkill(
        "winnow-scripts",
        "How to write one Python script for winnow's execute_code in place of many calls: counting, listing, "
        "comparing, joining, several searches, whole documents. Has recipes to copy and the reference of the "
        "functions.",
        needs=SCRIPTS,
        has_sdk=True,
    ),
    AgentSkill(
        "winnow-cited-answers",
        "How to write an answer from the user's documents in which each statement has a checked quote with its "
        "document and page, as [@citekey, p. 3]. Read it when sources, citations or quotes are asked for.",
        needs="kb_retrieve_evidence",
        section_needs=MappingProxyType(
            {
                "Read around them": "kb_expand_excerpt",
                "Check quotes": "citations_audit_check",
                "Check quotes by script": SCRIPTS,
                "Show the page": "kb_show",
            }
        ),
        recipes=("Quotes with citations", "Check each quote", "Verify a quote", "A list of references"),
    ),
    AgentSkill(
        "winnow-literature-notes",
        "How to take notes on papers and books of the user's library: question, method, findings and limits of "
        "each work, every finding with a quote, a citekey and a page; and how to compare works. Read it for "
        "reviews of literature.",
        needs="kb_documents",
        section_needs=MappingProxyType(
            {
                "Many works": SCRIPTS,
                "What was found out before": "wild_search",
                "Keep what was found": "wild_write",
                "Show the page": "kb_show",
            }
        ),
        recipes=(
            "One question to each work",
            "Read a document whole",
            "Read code, tables and links of many documents",
            "Compare",
            "A glossary",
            "A list of references",
        ),
    ),
)
