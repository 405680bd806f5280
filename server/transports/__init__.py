"""The transports: MCP over stdio and over HTTP."""
