"""Markup in texts: signs, escapes, code and captions of Markdown; template code; bounded YAML; safe patterns."""
