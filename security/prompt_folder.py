"""A pack of prompts with one prompt, and what a server makes of it, for the attacks ``prompt_packs``."""

from __future__ import annotations

from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.tools.prompts.library import load_prompts

_SPECIFICATION = """\
title: Ask
description: Asks one thing.
input:
  type: object
  properties:
    topic: {type: string, description: a topic}
  required: [topic]
"""


def write_prompt(body: str) -> Path:
    """A pack in the working folder whose prompt ``team/ask`` has this text; the path of the text."""
    own = Path("prompts", "packs", "team")
    own.mkdir(parents=True, exist_ok=True)
    Path("prompts", "REGISTRY.yaml").write_text("prompts: [{id: team/ask, versions: [1]}]")
    (own / "ask.spec.yaml").write_text(_SPECIFICATION)
    text = own / "ask.v1.md"
    text.write_text(body)
    return text


def fill_prompt(topic: str) -> str:
    """The prompt as a client gets it; "" where it is left out or refused."""
    library = load_prompts([Path("prompts")])
    try:
        return library.fill(library.find("team/ask", ()), {"topic": topic}, ())
    except WinnowError:
        return ""
