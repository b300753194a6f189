/**
 * An MCP server of the official SDK over HTTP whose tools are tasks: `node task-server-process.ts`. It says its address and each task that it begins
 * as a line of JSON, and ends the tasks when a line comes in. Tasks belong to the server, not to a client's session.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The part of the SDK that is used. It is installed with the reference servers. */
interface TaskStore {
  createTask(options: object): Promise<{ readonly taskId: string }>;
  getTask(id: string): Promise<unknown>;
  getTaskResult(id: string): Promise<unknown>;
  storeTaskResult(id: string, status: string, result: object): Promise<void>;
}
interface Extra {
  readonly taskStore: TaskStore;
  readonly taskId: string;
}
interface McpServer {
  readonly experimental: {
    readonly tasks: {
      registerToolTask(
        name: string,
        tool: object,
        handlers: Readonly<Record<"createTask" | "getTask" | "getTaskResult", (extra: Extra) => Promise<unknown>>>,
      ): void;
    };
  };
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
}
interface Transport {
  handleRequest(request: object, response: object): Promise<void>;
}
interface Sdk {
  readonly McpServer: new (info: object, options: object) => McpServer;
  readonly StreamableHTTPServerTransport: new (options: object) => Transport;
  readonly InMemoryTaskStore: new () => TaskStore;
}

const SDK = new URL("../../../node_modules/@modelcontextprotocol/sdk/dist/esm/", import.meta.url);

async function load(file: string): Promise<Sdk> {
  return (await import(new URL(file, SDK).href)) as Sdk; // of which only what the file has is used
}

const { McpServer } = await load("server/mcp.js");
const { StreamableHTTPServerTransport } = await load("server/streamableHttp.js");
const { InMemoryTaskStore } = await load("experimental/tasks/index.js");

const taskStore = new InMemoryTaskStore();
const begun: string[] = [];

function newServer(): McpServer {
  const capabilities = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new McpServer({ name: "tasks", version: "1" }, { capabilities, taskStore });
  server.experimental.tasks.registerToolTask(
    "order",
    { description: "Orders.", execution: { taskSupport: "required" } },
    {
      async createTask({ taskStore: tasks }) {
        const task = await tasks.createTask({ ttl: 600_000, pollInterval: 100 });
        begun.push(task.taskId);
        process.stdout.write(`${JSON.stringify({ task: task.taskId })}\n`);
        return { task };
      },
      getTask: ({ taskStore: tasks, taskId }) => tasks.getTask(taskId),
      getTaskResult: ({ taskStore: tasks, taskId }) => tasks.getTaskResult(taskId),
    },
  );
  return server;
}

const http = createServer((request, response) => {
  const server = newServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  response.on("close", () => void server.close());
  void server.connect(transport).then(() => transport.handleRequest(request, response));
});
http.listen(0, "127.0.0.1", () => {
  const { port } = http.address() as AddressInfo; // it listens on a port
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/mcp` })}\n`);
});
process.stdin.on("data", () => {
  for (const [index, taskId] of begun.splice(0).entries())
    void taskStore.storeTaskResult(taskId, "completed", { content: [{ type: "text", text: `order ${index + 1} of ${taskId}` }] });
});
process.stdin.on("end", () => process.exit(0));
