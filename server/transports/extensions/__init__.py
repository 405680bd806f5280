"""Extensions of MCP, each with its identifier: the page of an MCP App."""
