curl -X POST http://localhost:8080/mcp \
-H "Authorization: Bearer $SANDBAR_TOKEN" \
-d '{
"jsonrpc": "2.0",
"id": 5,
"method": "resources/read",
"params": {"uri": "mcp://sandbar/mm/Memory/decisions/foo"}
}'
