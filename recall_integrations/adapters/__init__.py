"""Adapters for objects of other libraries, one kind a file. None imports a library only to read its objects."""
