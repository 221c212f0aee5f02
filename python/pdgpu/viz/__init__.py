"""Pictures, films and interactive viewers."""
