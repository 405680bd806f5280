"""Signs, escapes, code and captions of Markdown; template code; bounded YAML; safe patterns; syntax trees."""
