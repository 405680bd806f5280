"""The tools an MCP client sees: one file each, this folder is the registry."""
