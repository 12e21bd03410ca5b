"""What the site adds to MkDocs: what pages ask for, what readers take along, and how it looks."""
