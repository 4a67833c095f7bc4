"""Pictures to vectors: faces are found, judged, followed and measured. Needs the extra `faces`."""
