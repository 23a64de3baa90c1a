"""The trusted kernel: it checks certificates, and is all that a proved line of the table rests on beside the schemas.

Standard library only. To be read in this order: terms, statements, facts, steps, certificate; then, for how numbers are bounded
and normal forms are made, intervals, evaluation, calculus, polynomials, algebra. Nothing here searches, and nothing is accepted
because another program says so: no `eval`, no pickle, no floats.

Integrals and limits need no kinds of their own. An antiderivative is an identity between a derivative, taken by the kernel's
own rules, and the integrand. A limit is two bounds: 0 <= c - f(x) <= K/x for x >= 1. Lemmas and citations are obligations (see
certificate).
"""
