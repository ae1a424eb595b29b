"""Destinations of output: folders of files in each format, tables, topics, standard output, a function of the user."""
