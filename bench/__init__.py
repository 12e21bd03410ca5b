"""What is timed or counted; the results stand beside, and pages show them."""
