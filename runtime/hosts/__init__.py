"""Connects users with Cedilla: the command line, the live page, editors, and Python programs.

In: options, requests, calls. Out: messages, pages, frames. Nothing imports a host.
"""
