/**
 * Calls through a gateway: `node scripts/gateway-load.mjs [--seconds 10] [--concurrent 32] [--serve] [--direct | --alone]`.
 *
 * Client, gateway and upstream are three processes on loopback, as they are where they are used. Prints calls a second, p50, p99, failures, and the
 * processor time and memory of the gateway; `--seconds 600` shows whether it stays flat. `--serve` puts `createServer`, which
 * `haft serve` runs, in place of `listenMcp`; `--direct` leaves the gateway out; `--alone` sends one call after another, in turn
 * through the gateway and directly, and prints what the gateway adds to a call. Build first.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest, Agent } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    concurrent: { type: "string", default: "32" },
    direct: { type: "boolean", default: false },
    serve: { type: "boolean", default: false },
    alone: { type: "boolean", default: false },
    role: { type: "string" },
    upstream: { type: "string", default: "" },
  },
});

async function haft(name) {
  return import(process.execArgv.includes("--conditions=haft-source") ? `../src/${name}.ts` : `../dist/${name}.js`);
}

const token = "the-token-of-the-load";

/** Resolves to the address of MCP at the port of a server, which lets in one token and as much as it sends. */
async function served(runtime) {
  const { createServer, staticToken } = await haft("server");
  const limits = { maxRequestsPerMinute: 1e9, maxBytesPerMinute: 1e12 };
  const { url } = await createServer(runtime, { auth: staticToken({ token }), limits }).listen({ port: 0 });
  return { url: `${url}/mcp` };
}

/** Serves the tools of a runtime, and says its address and, when asked, its memory. */
async function serve(toolsets, door) {
  const [{ createRuntime }, { listenMcp }] = await Promise.all([haft("index"), haft("server/mcp")]);
  const runtime = createRuntime({ toolsets: await toolsets() });
  await runtime.open();
  const { url } = door === "serve" ? await served(runtime) : await listenMcp(runtime, { port: 0 });
  process.on("message", (message) => {
    if (message === "end") process.exit(0);
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    process.send({ rss, heapUsed, cpu: user + system });
  });
  process.send({ url });
}

const upstreamTools = async () => [
  {
    name: "echo",
    tools: [
      {
        name: "say",
        description: "Says it again.",
        inputSchema: { type: "object", properties: { text: { type: "string" } } },
        effects: { reads: [], writes: [] },
        execute: ({ text }) => ({ text }),
      },
    ],
  },
];

const gatewayTools = async () => {
  const { mcpToolset } = await haft("engine/mcp");
  return [mcpToolset("far", { url: values.upstream, trustAnnotations: true })];
};

async function start(role, upstream = "") {
  const door = role === "gateway" && values.serve ? ["--serve"] : [];
  const child = fork(fileURLToPath(import.meta.url), ["--role", role, "--upstream", upstream, ...door], {
    execArgv: [...process.execArgv, "--expose-gc"],
  });
  const [{ url }] = await once(child, "message");
  return { child, url };
}

/** Memory in MB after a collection, and processor time in microseconds. */
async function usage(child) {
  child.send("usage");
  const [{ rss, heapUsed, cpu }] = await once(child, "message");
  return { rss: Math.round(rss / 1_048_576), heap: Math.round(heapUsed / 1_048_576), cpu };
}

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
let lastId = 0;

/** One `tools/call` of the revision 2026-07-28. Resolves to whether it was answered well. */
function call(url, name) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "load", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const id = ++lastId;
  const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: { text: `n${id}` }, _meta: meta } });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "content-length": Buffer.byteLength(body),
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
    authorization: `Bearer ${token}`,
  };
  return new Promise((resolve) => {
    const sent = httpRequest(url, { method: "POST", headers, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve(response.statusCode === 200 && text.includes(`n${id}`)));
    });
    sent.on("error", () => resolve(false));
    sent.end(body);
  });
}

async function load(url, name) {
  const latencies = [];
  let failed = 0;
  const until = performance.now() + Number(values.seconds) * 1_000;
  const worker = async () => {
    while (performance.now() < until) {
      const begin = performance.now();
      if (!(await call(url, name))) failed++;
      latencies.push(performance.now() - begin);
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: Number(values.concurrent) }, worker));
  const seconds = (performance.now() - begin) / 1_000;
  latencies.sort((one, other) => one - other);
  const at = (share) => latencies[Math.floor(latencies.length * share)]?.toFixed(2);
  return { rate: Math.round(latencies.length / seconds), p50: at(0.5), p99: at(0.99), failed, calls: latencies.length };
}

/** In turn, so that what else happens on the machine falls on both. */
async function alone({ direct, through }) {
  const ways = [
    { url: direct, name: "echo__say", latencies: [] },
    { url: through, name: "far__echo__say", latencies: [] },
  ];
  let failed = 0;
  const until = performance.now() + Number(values.seconds) * 1_000;
  while (performance.now() < until)
    for (const { url, name, latencies } of ways) {
      const begin = performance.now();
      if (!(await call(url, name))) failed++;
      latencies.push(performance.now() - begin);
    }
  const [own, gateway] = ways.map(({ latencies }) => latencies.sort((one, other) => one - other));
  for (const [what, share] of [
    ["p50", 0.5],
    ["p99", 0.99],
  ]) {
    const [without, with_] = [own, gateway].map((latencies) => latencies[Math.floor(latencies.length * share)]);
    console.log(
      `${what}: ${without.toFixed(2)} ms directly, ${with_.toFixed(2)} ms through the gateway: it adds ${(with_ - without).toFixed(2)} ms`,
    );
  }
  console.log(`${failed} of ${own.length + gateway.length} calls failed`);
  return failed;
}

if (values.role === "upstream") await serve(upstreamTools);
else if (values.role === "gateway") await serve(gatewayTools, values.serve ? "serve" : "mcp");
else {
  const upstream = await start("upstream");
  const gateway = values.direct ? undefined : await start("gateway", upstream.url);
  const { url, child } = gateway ?? upstream;
  const tool = gateway === undefined ? "echo__say" : "far__echo__say";
  for (let warm = 0; warm < 200; warm++) await call(url, tool);
  if (values.alone && gateway !== undefined) {
    for (let warm = 0; warm < 200; warm++) await call(upstream.url, "echo__say");
    const failed = await alone({ direct: upstream.url, through: url });
    agent.destroy();
    gateway.child.send("end");
    upstream.child.send("end");
    process.exit(failed === 0 ? 0 : 1);
  }
  const before = await usage(child);
  const { rate, p50, p99, failed, calls } = await load(url, tool);
  console.log(`${rate} calls/s, p50 ${p50} ms, p99 ${p99} ms, ${failed} of ${calls} failed`);
  const after = await usage(child);
  const who = gateway === undefined ? "server" : "gateway";
  console.log(`processor time of the ${who}: ${Math.round((after.cpu - before.cpu) / calls)} µs a call`);
  console.log(`memory of the ${who}: ${before.rss} MB (heap ${before.heap} MB) before, ${after.rss} MB (heap ${after.heap} MB) after`);
  agent.destroy();
  gateway?.child.send("end");
  upstream.child.send("end");
  process.exitCode = failed === 0 ? 0 : 1;
}
