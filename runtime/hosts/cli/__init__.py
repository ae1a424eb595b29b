"""The command line: reads options and calls the library (design, section 7). Nothing imports it."""
