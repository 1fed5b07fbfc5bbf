"""Facts that change: made-up histories with known answers, and how recalls answer them."""
