"""Regions as markers describe them: over raw values, as boxes that fit the wire format, and as texts for people.

In: regions, maps from canonical to raw values, `Facts`. Out: translated regions, boxes, accents, patterns. Imports the
compiler.
"""
