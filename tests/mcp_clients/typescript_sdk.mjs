// The TypeScript SDK, generation 1: node typescript_sdk.mjs URL TOKEN

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { drive, plainCommands, told } from "./driving.mjs";

const [url, token] = process.argv.slice(2);

const client = new Client({ name: "typescript-sdk", version: "1" });
client.fallbackNotificationHandler = async (notification) => told(notification);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
await client.connect(transport);

await drive({
  ...plainCommands(client),
  revision: async () => transport.protocolVersion,
  listen: async ({ uri }) => void (await client.subscribeResource({ uri })),
});
await client.close();
