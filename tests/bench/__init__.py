"""The benchmark itself is tested: that it measures everything, and that it can say `missed`."""
