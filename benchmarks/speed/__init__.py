"""How long things take, on made-up memories of any number."""
