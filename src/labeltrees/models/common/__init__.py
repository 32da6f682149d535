"""What both model families share."""
