"""Methods that the learner is compared with. They have its verbs, so one loop runs them all."""
