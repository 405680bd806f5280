"""The kernel's side of the sandbox: one function per wall, the system-call filter, and the shared memory group."""
