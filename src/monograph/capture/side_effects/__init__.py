"""Side effects: what user code writes to, and which of that outlives the call."""
