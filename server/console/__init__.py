"""The web console: pages about a store, for a person at a browser on this machine.

Theory of operation. ``winnow console`` serves pages on loopback and prints an address with a token. The first
request with the token gets a cookie, and the token is worthless from then on (``access``). A page asks the
knowledge base in the way that tools do, by the dispatcher or by ``Knowledge.call`` (``desk``), so that it shows
what an agent gets. What only commands know, such as the findings of the doctor, is passed in (``Reports``).

The pages read and change nothing. They are complete without scripts, and load nothing from elsewhere. Everything
that a page inserts is text from documents, or may be: the templates escape all of it (``rendering``), and the
policy of every answer allows no script at all (``access``).

================  =================================================================
``records``       what pages are asked, what they show, what commands pass in
``access``        who may see pages: hosts, origins, the token, the cookie, headers
``desk``          the application that pages ask, open only while it is used
``rendering``     templates to HTML
``examination``   one run of the doctor at a time, for all who ask
``drawings``      the geometry of a ring of neighbours, and of bars over days
``pages``         the pages, one module for each subject
``web``           routes, and the web application
================  =================================================================
"""
