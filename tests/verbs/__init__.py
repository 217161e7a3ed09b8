"""The verbs, called through the turnstile on real databases."""
