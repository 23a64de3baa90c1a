"""What counts say about a claim: binomial bounds, tests of one event, betting.

Counts go in, numbers with a stated guarantee come out. Nothing here draws a sample, knows what an output is or
chooses an event. Everything that a verdict rests on is evaluated with certified arithmetic; what only guides a search
says *heuristic* in its name or its docstring.
"""
