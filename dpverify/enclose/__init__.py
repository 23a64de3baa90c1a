"""Engines that turn formulas into certified numbers. They know neither mechanisms nor privacy: only functions of balls."""
