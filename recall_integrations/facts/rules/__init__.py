"""The rules by which `sentences` reads: `verbs` and `possessives` find, `values` cuts, `dates` says since when."""
