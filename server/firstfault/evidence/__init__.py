"""Evidence that is no log: flight-recorder dumps. Parses and compares; blames nobody by itself."""
