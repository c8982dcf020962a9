"""The garden: clusters that deliver facts and carry out decisions."""
