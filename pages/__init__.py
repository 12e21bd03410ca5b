"""What pages say and claim, read from their Markdown."""
