"""The measurements, one module per question."""
