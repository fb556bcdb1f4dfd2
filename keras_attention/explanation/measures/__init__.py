"""What the audit measures of a model: one module a measure."""
