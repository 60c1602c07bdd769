"""The composition of an embedded cluster: folder, certificates, server, controllers, nodes."""
