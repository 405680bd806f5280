"""The pack ``core``: search, documents, plans, research, citations and Markdown under one set of contracts."""
