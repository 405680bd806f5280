"""Configuration files of MCP clients as text: one member is edited, and the rest stays as it is.

No library does this for all of the formats. Those that keep comments write the whole file anew from a tree, so it
may differ after an entry came and went. Here the text itself is spliced, and what comes out is read again and
compared: ``tomllib``, ``json`` and ``yaml`` are the judges.
"""
