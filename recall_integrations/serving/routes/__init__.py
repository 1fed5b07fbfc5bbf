"""What can be asked for, a file for each subject. Each has `router(served)`."""
