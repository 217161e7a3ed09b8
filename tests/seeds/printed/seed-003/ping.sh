# Expect: "pong from sandwich platform — uid=… tenant=… via=api-key"
curl -s https://app.joinsandwich.com/api/mcp \
  -H "Authorization: Bearer sk-sand-…" \
  -H "Content-Type: application/json" \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ping","arguments":{}}}'
