"""Made-up histories of facts that change, and what is asked of them: who tells what, when, in which words."""
