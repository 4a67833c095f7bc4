"""What several sites know together, compared with one that saw everything."""
