"""The token benchmark: the same questions asked in several ways (arms), over real MCP frames."""
