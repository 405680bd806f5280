"""What several readers of formats use: bounded ZIP archives and XML, Markdown with places, parts of tables."""
