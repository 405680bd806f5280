"""Texts in another form, with the way back to their characters: spliced, composed, as a reader sees Markdown."""
