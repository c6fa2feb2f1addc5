"""The one exception that the command line prints as a single line."""

from __future__ import annotations


class UserError(Exception):
    """A mistake in what the user gave: a path, a key, a row, a preset. Says what and where."""
