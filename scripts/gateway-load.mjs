/**
 * Calls through a gateway: `node scripts/gateway-load.mjs [--seconds 10] [--warm 5] [--concurrent 32] [--serve] [--direct | --proxy | --alone | --beside]`.
 *
 * Client, gateway and upstream are three processes on loopback, as they are where they are used. Prints calls a second, p50, p99, failures, and the
 * processor time and memory of the gateway; `--seconds 600` shows whether it stays flat. `--serve` puts `createServer`, which
 * `haft serve` runs, in place of `listenMcp`; `--direct` leaves the gateway out, and `--proxy` puts a bare proxy in its place, which
 * passes bodies on and reads none: what any process in between costs here. `--alone` sends one call after another, in turn directly,
 * through the bare proxy and through the gateway, and prints what each adds to a call; `--beside` loads the three in turn, in short
 * rounds, and prints the medians of the rounds. Each way is loaded for `--warm` seconds first, unmeasured: until some ten thousand calls
 * were made, most of the time goes into compiling. Build first.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer, request as httpRequest, Agent } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    concurrent: { type: "string", default: "32" },
    warm: { type: "string", default: "5" },
    direct: { type: "boolean", default: false },
    serve: { type: "boolean", default: false },
    proxy: { type: "boolean", default: false },
    alone: { type: "boolean", default: false },
    beside: { type: "boolean", default: false },
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
  report(url);
}

/** Passes every request on as it is, over connections that stay open. */
async function serveProxy() {
  const { hostname, port, pathname: path } = new URL(values.upstream);
  const onward = new Agent({ keepAlive: true, maxSockets: Infinity });
  const server = createHttpServer((incoming, outgoing) => {
    const { method, headers } = incoming;
    const sent = httpRequest({ hostname, port, path, method, headers, agent: onward }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    sent.on("error", () => outgoing.destroy());
    incoming.pipe(sent);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  report(`http://127.0.0.1:${server.address().port}/mcp`);
}

/** Says where a process is reached and, when asked, what it uses. */
function report(url) {
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

async function load(url, name, forSeconds = Number(values.seconds)) {
  const latencies = [];
  let failed = 0;
  const until = performance.now() + forSeconds * 1_000;
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
  const [p50, p99] = [0.5, 0.99].map((share) => at(latencies, share).toFixed(2));
  return { rate: Math.round(latencies.length / seconds), p50, p99, failed, calls: latencies.length };
}

const at = (sorted, share) => sorted[Math.floor(sorted.length * share)] ?? 0;

/** In turn, so that what else happens on the machine falls on all. */
async function alone(ways) {
  const latencies = new Map(ways.map((way) => [way, []]));
  let failed = 0;
  const until = performance.now() + Number(values.seconds) * 1_000;
  while (performance.now() < until)
    for (const way of ways) {
      const begin = performance.now();
      if (!(await call(way.url, way.tool))) failed++;
      latencies.get(way).push(performance.now() - begin);
    }
  for (const times of latencies.values()) times.sort((one, other) => one - other);
  const [direct, ...others] = ways.map((way) => ({ what: way.what, times: latencies.get(way) }));
  for (const [name, share] of [
    ["p50", 0.5],
    ["p99", 0.99],
  ]) {
    const without = at(direct.times, share);
    const added = others.map(({ what, times }) => {
      const taken = at(times, share);
      return `${taken.toFixed(2)} ms ${what}, which adds ${(taken - without).toFixed(2)} ms`;
    });
    console.log(`${name}: ${without.toFixed(2)} ms ${direct.what}; ${added.join("; ")}`);
  }
  console.log(`${failed} of ${direct.times.length * ways.length} calls failed`);
  return failed;
}

/** One second each, in turn. */
async function beside(ways) {
  const rounds = [];
  let failed = 0;
  const until = performance.now() + Number(values.seconds) * 1_000;
  while (performance.now() < until) {
    const rates = [];
    for (const { url, tool } of ways) {
      const loaded = await load(url, tool, 1);
      failed += loaded.failed;
      rates.push(loaded.rate);
    }
    rounds.push(rates);
    console.log(rates.map((rate, index) => `${rate}/s ${ways[index].what}`).join("; "));
  }
  const median = (numbers) =>
    at(
      numbers.toSorted((one, other) => one - other),
      0.5,
    );
  for (const [index, { what }] of ways.entries()) {
    const share = median(rounds.map((rates) => rates[index] / rates[0]));
    console.log(`median: ${median(rounds.map((rates) => rates[index]))} calls/s ${what}, ${(100 * share).toFixed(0)} % of ${ways[0].what}`);
  }
  console.log(`${failed} calls failed`);
  return failed;
}

async function main() {
  const upstream = await start("upstream");
  const isOne = !values.alone && !values.beside;
  const proxy = isOne && !values.proxy ? undefined : await start("proxy", upstream.url);
  const gateway = isOne && (values.direct || values.proxy) ? undefined : await start("gateway", upstream.url);
  const ways = [
    { what: "directly", tool: "echo__say", who: "server", ...upstream },
    { what: "through a bare proxy", tool: "echo__say", who: "proxy", ...proxy },
    { what: "through the gateway", tool: "far__echo__say", who: "gateway", ...gateway },
  ].filter(({ url }) => url !== undefined);
  for (const { url, tool } of ways) await load(url, tool, Number(values.warm));
  const failed = isOne ? await loaded(ways.at(-1)) : await (values.alone ? alone(ways) : beside(ways));
  agent.destroy();
  for (const { child } of ways.toReversed()) child.send("end");
  return failed;
}

async function loaded({ url, tool, who, child }) {
  const before = await usage(child);
  const { rate, p50, p99, failed, calls } = await load(url, tool);
  console.log(`${rate} calls/s, p50 ${p50} ms, p99 ${p99} ms, ${failed} of ${calls} failed`);
  const after = await usage(child);
  console.log(`processor time of the ${who}: ${Math.round((after.cpu - before.cpu) / calls)} µs a call`);
  console.log(`memory of the ${who}: ${before.rss} MB (heap ${before.heap} MB) before, ${after.rss} MB (heap ${after.heap} MB) after`);
  return failed;
}

if (values.role === "upstream") await serve(upstreamTools);
else if (values.role === "proxy") await serveProxy();
else if (values.role === "gateway") await serve(gatewayTools, values.serve ? "serve" : "mcp");
else process.exitCode = (await main()) === 0 ? 0 : 1;
