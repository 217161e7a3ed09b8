// Tasks of the TypeScript SDK, generation 1: node typescript_sdk_tasks.mjs URL TOKEN

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { drive } from "./driving.mjs";

const [url, token] = process.argv.slice(2);

const client = new Client(
  { name: "typescript-sdk-tasks", version: "1" },
  { capabilities: { elicitation: { form: {} }, tasks: {} } },
);
const asked = [];
let answer = { action: "cancel" };
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  asked.push({ message: params.message, task: params._meta?.["io.modelcontextprotocol/related-task"]?.taskId });
  return answer;
});
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
await client.connect(transport);
const { tasks } = client.experimental;

// A call as a task: every state that is seen, and how it ends. `cancelled` ends it when it has begun.
async function run({ name, arguments: given, reply, cancelled }) {
  answer = reply ?? answer;
  asked.length = 0;
  const seen = { states: [], asked };
  for await (const message of tasks.callToolStream({ name, arguments: given }, CallToolResultSchema, { task: {} })) {
    if (message.type === "taskCreated") {
      seen.task = message.task.taskId;
      if (cancelled) seen.cancelled = (await tasks.cancelTask(seen.task)).status;
    } else if (message.type === "taskStatus") seen.states.push(message.task.status);
    else if (message.type === "result") seen.result = message.result;
    else seen.error = String(message.error);
  }
  seen.last = (await tasks.getTask(seen.task)).status;
  return seen;
}

await drive({
  revision: async () => transport.protocolVersion,
  support: async () => {
    const { tools } = await client.listTools();
    return Object.fromEntries(tools.map((tool) => [tool.name, tool.execution?.taskSupport ?? null]));
  },
  run,
  list: async () => (await tasks.listTasks()).tasks.map((task) => task.taskId),
});
await client.close();
