"""Converting wire bytes to column buffers without an object for each value.

The package contains only loops over bytes, which run interpreted or compiled by mypyc. ``kwire.arrow`` turns the
buffers into Arrow arrays.
"""
