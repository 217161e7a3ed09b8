"""The pack that seed 002 has its readers write: two tools that start tasks."""
