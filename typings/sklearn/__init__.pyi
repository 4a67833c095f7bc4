# scikit-learn ships no types. These are for the little of it that we use.
__version__: str
