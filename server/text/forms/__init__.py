"""Other forms of a text: with characters replaced, as a reader sees its Markdown, and titles in sentence case."""
