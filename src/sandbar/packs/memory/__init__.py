"""The memory pack: memories as Markdown, their links, and the import of what people have today."""
