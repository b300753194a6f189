/** One GET and one POST over loopback HTTP: Haft, from an OpenAPI document, beside plain `fetch` and `node:http`. */
import { Agent, createServer, request } from "node:http";
import { text } from "node:stream/consumers";
import { restEngine } from "../src/engine/rest.ts";
import { createRuntime } from "../src/index.ts";
import { measure, printTable, type Contestant } from "./measure.ts";
import { INPUT, SCHEMA } from "./workload.ts";

const BARE = "fetch";
const ORDER = { total: 25 };

export async function printRest(): Promise<void> {
  const server = createServer((incoming, response) => {
    void text(incoming).then(() => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(ORDER)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const baseUrl = `http://127.0.0.1:${port}`;
  const agent = new Agent({ keepAlive: true });
  const runtime = createRuntime({ toolsets: [{ name: "shop", engine: restEngine({ document: DOCUMENT, baseUrl }) }], strict: true });
  await runtime.open();
  const haft = (name: string, input: object): Contestant => ({
    name: "Haft",
    note: "execute: input and output validated, deadline",
    async run() {
      const { status, error } = await runtime.execute({ id: "c", name: `shop::${name}`, input });
      if (status !== "ok") throw new Error(error?.message);
    },
  });
  const read = [
    bareHttp(agent, port, "GET"),
    bareFetch(`${baseUrl}/orders/order-17?full=true`),
    haft("getOrder", { id: INPUT.id, full: true }),
  ];
  const write = [
    bareHttp(agent, port, "POST"),
    bareFetch(`${baseUrl}/orders`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(INPUT) }),
    haft("addOrder", INPUT),
  ];
  try {
    for (const [title, contestants] of [
      ["One GET over loopback HTTP", read],
      ["One POST with a JSON body over loopback HTTP", write],
    ] as const) {
      for (const { run } of contestants) for (let warmUp = 0; warmUp < 200; warmUp++) await run();
      printTable(title, await measure(contestants, { rounds: 15, roundMs: 300 }), BARE);
    }
  } finally {
    await runtime.close();
    agent.destroy();
    server.close();
  }
}

function bareHttp(agent: Agent, port: number, method: "GET" | "POST"): Contestant {
  const path = method === "GET" ? "/orders/order-17?full=true" : "/orders";
  const headers = method === "GET" ? {} : { "content-type": "application/json" };
  const body = method === "GET" ? "" : JSON.stringify(INPUT);
  return {
    name: "node:http",
    note: "keep-alive agent, body parsed",
    run: () =>
      new Promise<void>((resolve, reject) => {
        const sent = request({ host: "127.0.0.1", port, path, method, headers, agent }, (response) => {
          text(response)
            .then((answer) => check(JSON.parse(answer)), reject)
            .then(resolve, reject);
        });
        sent.on("error", reject).end(body);
      }),
  };
}

function bareFetch(url: string, init: RequestInit = {}): Contestant {
  return { name: BARE, note: "body parsed", run: async () => check(await (await fetch(url, init)).json()) };
}

function check(answer: unknown): void {
  if (typeof answer !== "object" || answer === null || Reflect.get(answer, "total") !== ORDER.total) throw new Error("another answer");
}

const ANSWER = {
  200: {
    description: "ok",
    content: { "application/json": { schema: { type: "object", properties: { total: { type: "number" } }, required: ["total"] } } },
  },
};
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  paths: {
    "/orders/{id}": {
      get: {
        operationId: "getOrder",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string" } },
          { name: "full", in: "query", schema: { type: "boolean" } },
        ],
        responses: ANSWER,
      },
    },
    "/orders": {
      post: {
        operationId: "addOrder",
        requestBody: { required: true, content: { "application/json": { schema: SCHEMA } } },
        responses: ANSWER,
      },
    },
  },
};
