"""Libraries of Zotero as records, the same from its database and from its local API. Never written."""
