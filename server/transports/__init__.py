"""The transports: MCP over stdio and over HTTP, and the same tools over HTTP and LSP without MCP."""
