"""The untrusted side: the fork server and the locked child that runs one script."""
