"""Explanations of rankings: from the record of the search itself, never by a second ranking."""
