"""What agents' frameworks want of a memory, a file each. Nothing here is imported by anything else of the package."""
