"""The file that finds old gradient code, and its mapping; `bundle` makes one file of both."""
