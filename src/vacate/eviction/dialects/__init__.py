"""API shapes around the neutral process: objects in, patches out. A new shape is a module here."""
