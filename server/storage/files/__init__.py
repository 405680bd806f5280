"""The files of a store: who may use the folder, locks, digests, repair and temporary folders."""
