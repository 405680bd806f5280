"""What both readers of PDF share: opening, what a person does not see, words that were torn, Markdown, OCR."""
