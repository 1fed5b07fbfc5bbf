"""What a recall does when its parts fail: every fault with every plan, many callers at once, a soak, and kills."""
