"""Drawing from laws: exactly, by comparing random integers with certified binary digits, or as ideal-model doubles.

Nothing here knows what a mechanism is: a law comes as certified probabilities, and the mechanism's own file says which
law it is. No statistics and no privacy live here.
"""
