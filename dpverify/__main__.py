"""`python -m dpverify` is the command line too. Nothing else lives here."""

from dpverify.cli import entry_point

if __name__ == "__main__":
    entry_point()
