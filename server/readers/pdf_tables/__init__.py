"""Tables on the pages of a PDF: where they begin, their columns and their rows."""
