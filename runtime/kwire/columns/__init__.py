"""From wire bytes to the buffers of columns, without an object for each value.

Only loops over bytes are here, which run interpreted or compiled by mypyc. ``kwire.arrow`` makes Arrow arrays of what
they find.
"""
