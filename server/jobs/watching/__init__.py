"""Watching folders: the sources of a store, what changes in them, and who brings the index up to date.

=====================  =========================================================================
``sources``            the sources of a store, in a file that only its user's commands write
``status``             what a watcher says about each source, for other processes
``file_systems``       whether a folder is on a file system that reports no changes
``events``             folders in which something changed (watchfiles)
``scans``              what to list again after a change, and which files are still being written
``source_watcher``     what the next two share
``path_watcher``       one path of a source: waits for changes, lists, and has them ingested
``zotero_watcher``     libraries of Zotero: looks at its database, reads, and has them ingested
``watcher``            all paths of a store, each in its own thread
``store_watcher``      a watcher over open backends
``check``              what ``winnow doctor`` says about sources
=====================  =========================================================================
"""
