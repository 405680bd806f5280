"""The measurements of ``winnow bench``, one subject per file."""
