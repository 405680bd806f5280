"""The tools of MCP, one module each; ``table`` lists them."""
