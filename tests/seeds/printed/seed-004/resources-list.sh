# List all resources surfaced from the metamodel
curl -X POST http://localhost:8080/mcp \
-H "Authorization: Bearer $SANDBAR_TOKEN" \
-d '{"jsonrpc":"2.0","id":4,"method":"resources/list"}'
