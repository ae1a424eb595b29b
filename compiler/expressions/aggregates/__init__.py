"""Aggregate functions: `aggregate_functions` lists them all. Imports `types` and `regions`."""
