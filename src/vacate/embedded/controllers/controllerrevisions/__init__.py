"""The history of templates that StatefulSets and DaemonSets keep."""
