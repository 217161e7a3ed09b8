// The Node half of a driven client: commands as lines of JSON on stdin, answers and news on stdout.
// Times are readings of the machine's monotonic clock, which Python reads too.

import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// To be called for every notification that the client was sent.
export function told(notification) {
  const at = Number(process.hrtime.bigint()) / 1e9;
  say({ told: { method: notification.method, uri: notification.params?.uri ?? null, at } });
}

// A client's three plain requests are called the same in both generations of the SDK.
export function plainCommands(client) {
  return {
    tools: async () => {
      const names = [];
      let cursor;
      do {
        const page = await client.listTools({ cursor });
        names.push(...page.tools.map((tool) => tool.name));
        cursor = page.nextCursor;
      } while (cursor);
      return names;
    },
    call: ({ name, arguments: given }) => client.callTool({ name, arguments: given }),
    read: ({ uri }) => client.readResource({ uri }),
  };
}

// Obeys until stdin ends. Commands run one after another.
export async function drive(commands) {
  say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, command, ...given } = JSON.parse(line);
    try {
      say({ id, answer: (await commands[command](given)) ?? null });
    } catch (error) {
      say({ id, error: String(error?.stack ?? error) });
    }
  }
}
