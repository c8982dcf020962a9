"""The scheduler itself: actions, plugins and what they share. No I/O, no clock, no dice."""
