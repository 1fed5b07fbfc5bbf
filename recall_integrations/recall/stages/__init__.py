"""The stages of a recall, a file each, in the order of `default_stages`."""
