"""The front door: parse, call, render."""
