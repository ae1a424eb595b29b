"""Lark's trees to syntax nodes, one method for each rule of `rq.lark`.

Imports `diagnostics`, `formatting`, `hints`, `parsing` and `syntax`.
"""
