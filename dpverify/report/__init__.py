"""From results to what is read: pure functions that return text or data for JSON.

Nothing is computed, printed or written here, and no wording lives anywhere else: a verdict reads the same on every path.
"""
