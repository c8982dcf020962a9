"""Time travel: the inputs of every cycle kept in a file, decided again, and cut down to what matters."""
