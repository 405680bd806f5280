"""Consequences of missing walls: for each wall, the clause of what is not stopped without it.

Plain data without imports of this system, so that every command can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Wall -> "without it, ..."; what other walls still hold is in docs/operations.md.
WITHOUT: Mapping[str, str] = MappingProxyType(
    {
        "not_root": "a script that breaks out of the other walls has the rights of the server's user",
        "user_namespace": "a fault in the kernel that needs a capability meets the capabilities of this host",
        "network_namespace": "the network of this host is held by the other layers alone",
        "ipc_namespace": "System V memory and queues of others are held by seccomp alone",
        "host_name_namespace": "the name of this host is held by seccomp alone",
        "pid_namespace": "processes of this host see the script's, and signals to them are held by other layers",
        "empty_root": "the files of this host have paths for a script: stat, chmod and chown are held "
        "by seccomp alone",
        "own_session": "a script may reach the terminal and the process group of the server",
        "descriptors": "a script holds what the server has open",
        "capabilities": "a script keeps the privileges that the server has",
        "dies_with_parent": "a script may outlive the server",
        "no_new_privileges": "a program that a script manages to execute may gain privileges",
        "not_dumpable": "other processes of this user may read a script's memory",
        "landlock": "opening files and TCP ports is held by the other layers alone",
        "memory_limit": "a script may take the memory of this host until the watching parent ends it",
        "cpu_limit": "a script may use a processor until the parent ends it",
        "file_limits": "the sizes of what a script writes are not limited",
        "process_limit": "further processes and threads are held by seccomp alone (root has no such limit)",
        "descriptor_limit": "further files and sockets are held by the other layers alone",
        "seccomp": "every call of the kernel may be made",
        "interpreter_files": "the language itself opens files",
        "interpreter_network": "the language itself opens sockets",
        "interpreter_processes": "the language itself starts processes",
        "interpreter_memory": "the interpreter does not count its memory",
    }
)
