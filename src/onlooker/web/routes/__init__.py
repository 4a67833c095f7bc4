"""The REST interface: one module per subject, each with a function that makes its router."""
