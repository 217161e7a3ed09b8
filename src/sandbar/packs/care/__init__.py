"""The pack `care`: Sandwich, a caregiver's family and its events, over `/api/mcp`."""
