"""Shared parts of both readers of PDF: opening, what a person does not see, torn words, Markdown, OCR."""
