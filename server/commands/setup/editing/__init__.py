"""Configuration files of MCP clients as text: one member is edited, and the rest stays as it is."""
