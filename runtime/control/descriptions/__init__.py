"""Regions as markers describe them: over raw values, as boxes that fit the wire format, as texts for people.

In: regions, maps from canonical to raw values, `Facts`. Out: regions of the other values, boxes, accents, patterns.
Imports the compiler.
"""
