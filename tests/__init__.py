"""What this site promises, checked."""
