"""The framework: session, statement, extension points, dispatch, scoring, and the trace of a cycle."""
