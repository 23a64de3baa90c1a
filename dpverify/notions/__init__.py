"""Privacy notions, each computed from a dominating pair, and the conversions among them.

Nothing here knows which mechanism a pair came from.
"""
