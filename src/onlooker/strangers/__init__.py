"""Cards of people who were seen and not known: shown, named, ignored, corrected."""
