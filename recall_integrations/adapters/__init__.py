"""What knows other libraries' objects, one kind a file. None of them is imported to read what they made."""
