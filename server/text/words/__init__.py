"""Words, sentences and spans of a text, its tokens and its language."""
