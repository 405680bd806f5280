"""Manual pages in roff, with the macros of man(7) and mdoc(7), as Markdown."""
