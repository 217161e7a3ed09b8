// ext-tasks over the TypeScript client: node typescript_tasks.mjs URL TOKEN legacy|<revision>
//
// At 2026-07-28 the TypeScript client lets no result of a task through, so ext-tasks wants to be given
// a way to send raw requests: one POST each, whose headers repeat what the body says.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { drive } from "./driving.mjs";

const [url, token, era] = process.argv.slice(2);
const isModern = era !== "legacy";
const clientInfo = { name: "ext-tasks", version: "1" };
const capabilities = { elicitation: { form: {} } };
const headers = { Authorization: `Bearer ${token}` };

const client = new Client(clientInfo, {
  capabilities,
  ...(isModern ? { versionNegotiation: { mode: { pin: era } } } : {}),
});
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

let number = 0;

async function rawDispatch(request) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...headers,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": era,
      "Mcp-Method": request.method,
      "Mcp-Name": request.params.name ?? request.params.taskId,
    },
    body: JSON.stringify({ ...request, jsonrpc: "2.0", id: `raw-${++number}` }),
  });
  const text = await response.text();
  const isStream = response.headers.get("content-type").startsWith("text/event-stream");
  const messages = isStream
    ? text.split("\n").flatMap((line) => (/^data:\s*\S/.test(line) ? [JSON.parse(line.slice(5))] : []))
    : [JSON.parse(text)];
  const { result, error } = messages.find((message) => "id" in message);
  return error === undefined ? { kind: "result", result } : { kind: "error", error };
}

const asked = [];
let answer = { action: "cancel" };
const session = createTaskSessionFromClient(client, {
  endpointId: "tests",
  onInputRequest: async (request, context) => {
    asked.push({ message: request.params.message, delivery: context.delivery });
    return answer;
  },
  ...(isModern
    ? { rawDispatch, v2RequestFraming: { protocolVersion: era, clientInfo, clientCapabilities: capabilities } }
    : {}),
});

const executions = new Map();

async function start(name, given) {
  const execution = await session.callTool(name, given, { task: { preference: "require" } });
  const task = execution.handle?.taskId ?? null;
  executions.set(task, execution);
  return { kind: execution.kind, task };
}

await drive({
  revision: async () => client.getNegotiatedProtocolVersion(),
  capabilities: async () => session.capabilities,
  start: ({ name, arguments: given }) => start(name, given),
  settle: async ({ task, reply }) => {
    answer = reply ?? answer;
    asked.length = 0;
    const states = [];
    const onEvent = (event) => void (event.type === "task" && states.push(event.task.status));
    const { outcome } = await executions.get(task).settle({ onEvent });
    return { status: outcome.status, result: outcome.result, error: outcome.error?.message, asked, states };
  },
  cancel: ({ task }) => session.cancelTask(task),
  look: async ({ task }) => (await session.task(task).snapshot()).status,
  list: async () => (await session.listTasks()).tasks.map((task) => task.taskId),
});
await session.close();
await client.close();
