"""The commands, by what they are for. Each imports what is heavy inside of it: `recall --help` needs none of it."""
