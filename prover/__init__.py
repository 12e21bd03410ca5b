"""The file that proves a port: it records an old training step, and compares the new one."""
