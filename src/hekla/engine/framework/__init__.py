"""The hall: session, statement, extension points, and the story of a cycle."""
