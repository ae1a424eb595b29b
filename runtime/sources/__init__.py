"""Sources, one file per format."""
