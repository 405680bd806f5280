"""The server over a user's own knowledge base: retrieval, tools, transports and commands.

The rooms of this package and who may import whom are drawn in docs/architecture.md.
"""

from pathlib import Path

# Texts, prompts, skills and styles that are installed with the code.
DATA = Path(__file__).parent / "data"
