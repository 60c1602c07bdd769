"""Translations between the objects of an API and the engine: objects in, patches out. One module per API."""
