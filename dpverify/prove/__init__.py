"""Machine-checked theorems: a small trusted kernel, schemas that own the logic, untrusted tactics that search.

The theorems themselves stand in `proofs/`. Nothing here samples, and mechanisms are compared with the theorems about them but
never asked for a verdict.
"""
