"""Sessions over HTTP: this room translates between requests and sessions, and decides nothing by itself.

It needs the extra ``serve``; nothing else of superarm imports it but the command line.
"""
