"""Syntax nodes to text in the ASCII spelling, with the comments of the old text.

Imports `syntax`.
"""
