"""The pack of the conformance suites: one fixture for everything that the protocol can do."""
