"""Text to lark's trees: the parser of `rq.lark`, and where statements begin and end.

Imports `syntax`.
"""
