"""One engine for every winnow that works on a store: the library is open once, the model is in memory once.

Theory of operation. A store's folder has a folder ``run`` that only its owner may enter, and in it a socket. Who
wants answers connects; where nobody listens, it starts an engine and tries again. Two that start one at the same
time start two processes: the lock ``engine`` admits one, the other leaves, and both clients find the one that
stayed. The first frame of a connection says which build speaks and under which settings it asks; the engine gives
each connection a knowledge base of its own (scope, sessions, caches) over the one library. So nothing crosses from
client to client but the work of opening the store.

An engine leaves when it has had no client for a while. One that dies is followed at once by the next, which its
keeper forks (``process``); where both are gone, a client starts another with its next call. A client asks once
more what was not answered: everything that can be asked only reads. What sessions were shown goes with the engine,
as it goes with a server's process.

=============  ============================================================================================
``wire``       frames, and what travels in them
``place``      where the socket is, and who may be at its ends
``launching``  a process that nobody waits for
``client``     ``server.knowledge.Knowledge`` at the other end of the socket
``host``       the engine's side of the socket
``process``    the program that an engine runs
=============  ============================================================================================
"""
