"""Symbols only: derivations whose every step is checked exactly.

The engine works on the protocol in `protocol.py` and knows no mechanism by name. No number is rounded here, no SymPy
limit and no SymPy integral is trusted, and a step that is not proved is an error.
"""
