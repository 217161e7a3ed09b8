# In one connection — subscribe to a URI
curl -N -X POST http://localhost:8080/mcp \
-H "Authorization: Bearer $SANDBAR_TOKEN" \
-H "Accept: text/event-stream" \
-d '{
"jsonrpc": "2.0",
"id": 6,
"method": "resources/subscribe",
"params": {"uri": "mcp://sandbar/mm/Memory/decisions/foo"}
}'
