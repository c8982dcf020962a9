"""Planning: would a job start now, and what would have to change; nothing is touched."""
