curl -X POST http://localhost:8080/mcp \
-H "Authorization: Bearer $SANDBAR_TOKEN" \
-d '{
"jsonrpc": "2.0",
"id": 3,
"method": "tools/call",
"params": {
"name": "sandbar.entity.create",
"arguments": {
"class": "mm/Memory",
"format": "markdown",
"source": "---\nname: Foo\ntype: idea\n---\n# Context\n\nA quick thought.\n"
}
}
}'
