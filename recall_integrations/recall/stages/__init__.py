"""The stages of a recall, a file each; `ReadPath._default_stages` gives their order."""
