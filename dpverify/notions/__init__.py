"""Privacy notions, each computed from a dominating pair, and the conversions among them.

Nothing here knows which mechanism a pair came from: a mechanism is whatever offers `dominating_pairs()`.

| module | what it answers |
|---|---|
| `approximate` | the privacy profile, the least epsilon, the total variation |
| `probabilistic` | P(loss > epsilon), its inverse, pairwise and in the union reading |
| `renyi` | Renyi divergences, and the (epsilon, delta) that follow from them |
| `concentrated` | the rho of zCDP, the (epsilon, tau) of mean-concentrated DP |
| `gaussian_dp` | the mu of Gaussian DP |
| `trade_off` | trade-off functions |
| `loss` | the law of the privacy loss, and discretisations of it |
| `conversion`, `groups` | from one guarantee to another |
"""
