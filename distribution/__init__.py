"""What is published of winnow: archives, manifests for clients and registries, and the list of what is inside.

``python -m distribution`` (``make dist``) writes all of it into ``dist/``. Nothing of this folder is installed.

=============  ==========================================================================
``facts``      name, version, command and arguments, from ``pyproject.toml`` and the settings
``manifests``  the documents that clients and registries read
``pins``       the pinned distributions that an installation has
``bill``       the software bill of materials
``archives``   zip and tar files that are the same bytes wherever they are written
``building``   the wheel, the sdist, the bundle and their digests
=============  ==========================================================================
"""
