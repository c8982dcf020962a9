"""A plugin for hekla, found by entry point: see pyproject.toml."""
