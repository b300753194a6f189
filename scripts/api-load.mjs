/**
 * Calls over the HTTP API beside a bare Hono route: `node scripts/api-load.mjs [--seconds 5] [--concurrent 64] [--rounds 3]`.
 *
 * Both servers are processes of their own on loopback, read the same body and judge it by the same JSON Schema, and are asked in turn over connections that stay
 * open. The API answers `POST /v1/sessions/{id}/execute` with one call of a session; the bare route parses, validates and answers. Prints requests a
 * second of each, the ratio of each round, and what a call adds at low load. Build first.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest, Agent } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    concurrent: { type: "string", default: "64" },
    rounds: { type: "string", default: "3" },
    role: { type: "string" },
  },
});

const source = process.execArgv.includes("--conditions=haft-source");
const haft = (name) => import(source ? `../src/${name}.ts` : `../dist/${name}.js`);

const token = "the-token-of-the-load";
const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false };

/** @returns the port */
async function api() {
  const [{ createRuntime }, { createServer, staticToken }] = await Promise.all([haft("index"), haft("server")]);
  const say = {
    name: "say",
    description: "Says it again.",
    inputSchema,
    effects: { reads: [], writes: [] },
    execute: ({ text }) => ({ text }),
  };
  const runtime = createRuntime({ toolsets: [{ name: "echo", tools: [say] }] });
  await runtime.open();
  const limits = { maxRequestsPerMinute: 1e9, maxBytesPerMinute: 1e12 };
  const { port } = await createServer(runtime, { auth: staticToken({ token }), limits }).listen({ port: 0 });
  return port;
}

/** @returns the port */
async function bare() {
  const [{ Hono }, { serve }, { compileSchema }] = await Promise.all([
    import("hono"),
    import("@hono/node-server"),
    import("../src/schema/compile-schema.ts"),
  ]);
  const body = {
    type: "object",
    properties: {
      calls: { type: "array", items: { type: "object", properties: { name: { type: "string" }, input: inputSchema }, required: ["name"] } },
    },
    required: ["calls"],
    additionalProperties: false,
  };
  const schema = compileSchema(body);
  const app = new Hono();
  app.post("/v1/sessions/:id/execute", async (context) => {
    const value = await context.req.json();
    const problems = schema.problems(value);
    if (problems.length > 0) return context.json({ problems }, 400);
    return context.json({ results: value.calls.map(({ input }) => ({ status: "ok", output: input })) });
  });
  return await new Promise((resolve) => serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port)));
}

async function start(role) {
  const child = fork(fileURLToPath(import.meta.url), ["--role", role], { execArgv: process.execArgv });
  const [port] = await once(child, "message");
  return { child, port, agent: new Agent({ keepAlive: true, maxSockets: Infinity }) };
}

let lastId = 0;

/** Resolves to whether the call was answered well. */
function call(server, session) {
  const text = `n${++lastId}`;
  return post(server, `/v1/sessions/${session}/execute`, { status: 200, text, value: { calls: [{ name: "echo::say", input: { text } }] } });
}

/** Resolves to whether it was answered with the status and the text. */
function post({ port, agent }, path, { status, text, value }) {
  const body = JSON.stringify(value);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), authorization: `Bearer ${token}` };
  return new Promise((resolve) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path, method: "POST", headers, agent }, (response) => {
      let answer = "";
      response.setEncoding("utf8").on("data", (chunk) => (answer += chunk));
      response.on("end", () => resolve(response.statusCode === status && answer.includes(text)));
    });
    sent.on("error", () => resolve(false));
    sent.end(body);
  });
}

async function load(server, { seconds, concurrent }) {
  const latencies = [];
  let failed = 0;
  const begin = performance.now();
  const until = begin + seconds * 1_000;
  const client = async (_, index) => {
    while (performance.now() < until) {
      const sent = performance.now();
      if (!(await call(server, `s${index}`))) failed++;
      latencies.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: concurrent }, client));
  latencies.sort((one, other) => one - other);
  const rate = Math.round((latencies.length / (performance.now() - begin)) * 1_000);
  return { rate, p50: latencies[Math.floor(latencies.length / 2)], failed };
}

if (values.role !== undefined) {
  process.on("message", () => process.exit(0));
  process.send(await (values.role === "api" ? api() : bare()));
} else {
  const servers = { bare: await start("bare"), api: await start("api") };
  const load1 = { seconds: Number(values.seconds), concurrent: Number(values.concurrent) };
  let failures = 0;
  for (let index = 0; index < load1.concurrent; index++)
    await post(servers.api, "/v1/sessions", { status: 201, text: `s${index}`, value: { id: `s${index}` } });
  for (const server of Object.values(servers)) await load(server, { ...load1, seconds: 1 }); // warm
  const ratios = [];
  for (let round = 1; round <= Number(values.rounds); round++) {
    const [without, with_] = [await load(servers.bare, load1), await load(servers.api, load1)];
    ratios.push(with_.rate / without.rate);
    failures += without.failed + with_.failed;
    console.log(`${without.rate} requests/s bare, ${with_.rate} of the API: ${Math.round(100 * (with_.rate / without.rate))} %`);
  }
  const [without, with_] = [await load(servers.bare, { ...load1, concurrent: 1 }), await load(servers.api, { ...load1, concurrent: 1 })];
  console.log(
    `alone, p50: ${without.p50.toFixed(2)} ms bare, ${with_.p50.toFixed(2)} ms of the API: it adds ${(with_.p50 - without.p50).toFixed(2)} ms`,
  );
  ratios.sort((one, other) => one - other);
  console.log(`median ${Math.round(100 * ratios[Math.floor(ratios.length / 2)])} %, ${failures + without.failed + with_.failed} failed`);
  for (const { child, agent } of Object.values(servers)) {
    agent.destroy();
    child.send("end");
  }
}
