"""Routes, a file for each subject. Each file has `router(served)`."""
