"""Jobs: ingests that an agent asked for, which survive the server that took the request.

Theory of operation. A job is a file in the folder ``jobs`` of the store; the folder is the queue. The process that
has the store open, an engine or a server that works alone, runs the jobs one after the other in a thread, and
holds the lock ``runner`` meanwhile. A job that is unfinished while no process holds the lock was left behind by a
process that ended. The next process that opens the store continues it: the ledger of the ingest
(``server.ingest``) skips what was done. A request to cancel is a separate file in the same folder, so that only
the runner writes the job's file.

==============  ====================================================================
``records``     a job: its request, state, progress and result
``job_files``   the folder of jobs: atomic writes, bounds, files that are not ours
``queue``       takes jobs, runs them one by one, cancels them, resumes them
``admission``   which files an agent may ask for
``ingesting``   runs one job into open backends
``target``      the stores, model and graph that an ingest writes to
``reports``     a job for a caller: JSON data, and lines of text
``watching``    the watched sources of a store, which are ingested after each change
==============  ====================================================================
"""
