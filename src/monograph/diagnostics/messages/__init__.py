"""Message templates: one function per name, in files by what a message is about."""
