"""Pictures of pages of a PDF, with the words of quotes marked."""
