// The TypeScript client, generation 2: node typescript_client.mjs URL TOKEN legacy|auto|<revision>

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { drive, plainCommands, told } from "./driving.mjs";

const [url, token, era] = process.argv.slice(2);
const negotiation = { legacy: {}, auto: { versionNegotiation: { mode: "auto" } } };
const options = negotiation[era] ?? { versionNegotiation: { mode: { pin: era } } };

const client = new Client({ name: "typescript-client", version: "1" }, options);
client.fallbackNotificationHandler = async (notification) => told(notification);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));

await drive({
  ...plainCommands(client),
  revision: async () => client.getNegotiatedProtocolVersion(),
  listen: async ({ uri }) => {
    if (era === "legacy") return void (await client.subscribeResource({ uri }));
    await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
  },
});
await client.close();
