"""Characters of a page as PDFium has them: letters of TeX, raised digits, text that liteparse lost."""
