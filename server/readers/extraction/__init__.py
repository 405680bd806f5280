"""Entity and relation extraction without a model: ``extract_document``, and the project's ``Ledger``."""
