"""Commands for watched folders: ``winnow watch`` and ``winnow sources``."""
