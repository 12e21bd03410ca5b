"""Models, faults and correct ports on which a comparison of training steps is tried."""
