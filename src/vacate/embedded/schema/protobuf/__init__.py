"""Bodies in the protobuf form of the Kubernetes API, read into the same dicts as JSON.

Clients built from the official Go types, kubectl among them, send what they create in this form and accept
JSON in return, so reading it is enough.
"""

from vacate.embedded.schema.protobuf.decode import MEDIA_TYPE, ProtobufError, decode_object

__all__ = ["MEDIA_TYPE", "ProtobufError", "decode_object"]
