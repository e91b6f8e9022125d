"""Conversion of wire bytes to the buffers of columns, without an object for each value.

The package has only loops over bytes, which run interpreted or compiled by mypyc. ``kwire.arrow`` turns their buffers
into Arrow arrays.
"""
