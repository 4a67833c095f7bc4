"""The learner with the interfaces of other libraries: `compat.sklearn` and `compat.river`.

Nothing is imported here, so that neither library is needed for the other.
"""
