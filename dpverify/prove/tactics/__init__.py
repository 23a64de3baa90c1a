"""Untrusted search: turns hints into steps and fills in what an author left out. Whatever it emits is checked by the kernel."""
