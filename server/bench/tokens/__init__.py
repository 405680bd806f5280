"""What answers cost in tokens: the same questions put to the tools in several ways, over real MCP frames."""
