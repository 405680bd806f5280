"""The engine: one process per store that holds the open index and the model for all servers of that store.

Theory of operation. The store's folder contains a folder ``run`` that only its owner may enter, and in it a Unix
socket. A client connects to it; if nothing listens, it starts an engine and retries. Two clients that start an
engine at the same time start two processes: the lock ``engine`` admits one, the other exits, and both clients
connect to the one that stayed. The first frame of a connection states the client's build and settings. The engine
gives each connection its own knowledge base (scope, sessions, caches) over the one shared store, so clients
share nothing but the cost of opening the store.

An engine exits when it has had no client for a while. When it crashes, its supervisor forks the next one at once
(``process``); when both are gone, a client starts another with its next call. A client repeats an unanswered
request once, and only one that changes nothing. The passages of a session are lost with the engine, as
they are lost with a server's process.

=====================  ====================================================================
``wire``               frames, and one end of a connection
``messages``           the requests and answers that travel in the frames
``compatibility``      which build and settings the clients of one engine must agree on
``endpoint``           the socket, and the check of who is at its other end
``heartbeat``          how the supervisor detects an engine that hangs
``sharing``            whether a process works with an engine
``launch``             starting an engine as a detached process
``client``             ``server.operations.knowledge.Knowledge`` over the socket
``service``            the engine's side: the shared store and its clients
``client_connection``  one client of the service, and its requests
``process``            the engine's program: supervisor and engine
=====================  ====================================================================
"""
