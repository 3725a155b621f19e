"""The search for centres and labels that obey the rules."""
