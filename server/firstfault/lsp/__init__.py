"""The language server: the only package that knows the editor protocol. Holds no knowledge of failures and no diagnosis."""
