"""Numbers: exact input, certified output, and the arithmetics that a formula can run on.

Nothing here knows what a mechanism is. Each arithmetic is a module of its own, so that a certified number can be
computed without importing SymPy, NumPy or mpmath.
"""
