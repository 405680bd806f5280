"""Extensions of MCP: the page of an app, and agent skills."""
