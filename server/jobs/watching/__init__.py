"""Watching folders: the sources of a store, the changes in them, and the threads that update the index.

=====================  =========================================================================
``sources``            the sources of a store, in a file that only its user's commands write
``status``             the status of each watched path, in a file for other processes
``ingest_lag``         the lag of the index behind its sources
``file_systems``       whether a folder is on a file system that reports no changes
``events``             changes in folders, as the kernel reports them (watchfiles)
``scans``              the parts to list again after a change, and files that are still being written
``source_watcher``     the base class of the next two
``path_watcher``       one path of a source: waits for changes, lists files, has them ingested
``zotero_watcher``     libraries of Zotero: checks its database, reads it, has it ingested
``watcher``            all paths of a store, each in its own thread
``store_watcher``      a watcher over open backends
=====================  =========================================================================
"""
