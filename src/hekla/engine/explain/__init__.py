"""Why a job waits, told of a session that has run: what binds the job, and whether that passes."""
