"""Independent bits of which only rows inside a set were recorded: estimation, errors, mass, samples."""
