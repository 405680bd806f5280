"""Markup in texts: template code in titles and headings, and whether a text is Markdown."""
