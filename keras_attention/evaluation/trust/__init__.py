"""How far answers can be trusted: fitted on validation pairs, measured on others, reported."""
