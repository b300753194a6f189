/** A configuration in the words of seed 000, run against servers as they really are: an event stream at `<base>/sse`, keys in two places, writes that are only probed. */
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import { formatForOperator } from "../../src/core/error.ts";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configFolder, problemsOf } from "../config/config-folder.ts";
import { legacy, loopbackMcp, text, toolList } from "../engine/mcp/loopback-mcp.ts";
import { recordingServer } from "../engine/rest/recording-server.ts";

async function runtimeOf(files: Readonly<Record<string, string>>, environment: Readonly<Record<string, string>> = {}): Promise<Runtime> {
  const folder = configFolder(files);
  const options = await configuredRuntime(join(folder, "haft.yaml"), { environment });
  const runtime = createRuntime({ ...options, ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  return runtime;
}

/** A server of the first transport of MCP: events at `/sse`, messages to `/post`, and nothing anywhere else. */
async function eventStreamServer(tools: Readonly<Record<string, (input: JsonObject) => string>>) {
  const seen: string[] = [];
  let stream: ServerResponse | undefined;
  const send = (message: JsonObject): void =>
    void stream?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  const answer = ({ id, method, params }: JsonObject): void => {
    if (id === undefined) return;
    if (method === "initialize")
      return send({
        id,
        result: { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "desk", version: "1" } },
      });
    if (method === "tools/list")
      return send({ id, result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) } });
    const { name, arguments: input } = isJsonObject(params) ? params : {};
    const said = tools[String(name)]?.(isJsonObject(input) ? input : {}) ?? "unknown";
    send({ id, result: { content: [{ type: "text", text: said }] } });
  };
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.method === "GET" && request.url === "/sse") {
      stream = response;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write("event: endpoint\ndata: /post?s=1\n\n");
    }
    if (request.method !== "POST" || request.url !== "/post?s=1") return void response.writeHead(404).end();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      response.writeHead(202).end();
      answer(JSON.parse(Buffer.concat(chunks).toString()) as JsonObject);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { base: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, seen };
}

const DESK = (base: string, more = ""): string => `tools:
  registry:
    - type: mcp
      url: ${base}
      namespace: hr_api
      engine: mcp_live
${more}
  engines:
    mcp_live:
      type: mcp
      url: ${base}
`;

test("F0.18 F0.56 the server of an entry whose url has no path is found at <base>/sse, each way being tried once", async () => {
  const { base, seen } = await eventStreamServer({ badge: ({ who }) => `badge of ${String(who)}` });
  const runtime = await runtimeOf({ "haft.yaml": DESK(base) });
  const report = await runtime.open();
  const result = await runtime.execute({ name: "hr_api::badge", input: { who: "Ada" } });

  expect(report.failed).toEqual([]);
  expect(result).toMatchObject({ status: "ok", origin: "live", content: [{ type: "text", text: "badge of Ada" }] });
  expect([...new Set(seen)]).toEqual(["POST /", "POST /mcp", "GET /", "GET /sse", "POST /post?s=1"]);
  expect(seen.filter((line) => line === "GET /sse")).toHaveLength(1);
});

test("F0.18 where there is no MCP server at all, what was tried is said", async () => {
  const { url } = await recordingServer(() => ({ status: 404, body: "" }));
  const runtime = await runtimeOf({ "haft.yaml": DESK(url) });
  const { failed } = await runtime.open();

  expect(failed).toHaveLength(1);
  expect(formatForOperator(failed[0]?.error)).toMatch(/HTTP 404.*\/, \/mcp, \/sse/u);
});

test("F0.35 F0.56 effects that an entry gives the tools of its server let a simulation probe them, and the others not", async () => {
  const called: string[] = [];
  const { url } = await loopbackMcp({
    ...legacy(),
    "tools/list": () => toolList(["find_person", "hire_person"]),
    "tools/call": ({ params }) => {
      called.push(String(params["name"]));
      return text("done");
    },
  });
  const more = `      effects:
        "find_*": { reads: [people], writes: [] }
      rename: { hire_person: hire }`;
  const runtime = await runtimeOf({ "haft.yaml": DESK(url, more) });
  await runtime.open();
  const session = runtime.session("probe");
  const { results } = await session.simulate([{ name: "hr_api::find_person" }, { name: "hr_api::hire" }]);

  expect(results.map(({ status, origin, error }) => [status, origin, error?.code])).toEqual([
    ["ok", "live", undefined],
    ["error", "simulated", "not_simulatable"],
  ]);
  expect(called).toEqual(["find_person"]);
  await session.execute([{ name: "hr_api::hire" }]);
  expect(called).toEqual(["find_person", "hire_person"]);
});

test("F0.58 an entry with a server of its own and no engine is answered by that server, whatever engine there is", async () => {
  const server = async (name: string) =>
    (await loopbackMcp({ ...legacy(), "tools/list": () => toolList(["who"]), "tools/call": () => text(name) })).url;
  const [own, other] = [await server("own"), await server("other")];
  const runtime = await runtimeOf({
    "haft.yaml": `tools:
  registry:
    - { type: mcp, url: "${own}", namespace: a }
    - { type: mcp, url: "${other}", namespace: b, engine: live }
  engines: { live: { type: mcp, url: "${other}" } }
`,
  });
  await runtime.open();
  const results = await runtime.execute([{ name: "a::who" }, { name: "b::who" }]);

  expect(results.map(({ content }) => content?.[0])).toEqual([
    { type: "text", text: "own" },
    { type: "text", text: "other" },
  ]);
});

const SPEC = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Depot", version: "1" },
  paths: { "/crates": { get: { operationId: "crates", responses: { 200: { description: "" } } } } },
});

test.each([
  ["header", "bearer_token: t0ken", { authorization: "Bearer t0ken", key: "k3y" }],
  ["query", "bearer_token: t0ken", { authorization: "Bearer t0ken", key: "k3y" }],
  ["header", "basic_auth: [me, pw]", { authorization: `Basic ${btoa("me:pw")}`, key: "k3y" }],
  ["header", "bearer_token: t0ken, basic_auth: [me, pw]", { authorization: "Bearer t0ken", key: "k3y" }],
] as const)("F0.49 an API key in the %s is sent beside %s, and a token goes before a password", async (location, auth, sent) => {
  const { url, received } = await recordingServer(() => ({ body: "[]" }));
  const entry = `{ type: rest, spec: depot.json, base_url: "${url}", namespace: d, ${auth}, api_key: { name: x-key, value: k3y, location: ${location} } }`;
  const runtime = await runtimeOf({ "haft.yaml": `tools: [${entry}]`, "depot.json": SPEC });
  await runtime.open();
  await runtime.execute({ name: "d::crates" });

  const [request] = received;
  const key = location === "header" ? request?.headers["x-key"] : new URL(request?.url ?? "", url).searchParams.get("x-key");
  expect({ authorization: request?.headers["authorization"], key }).toEqual(sent);
});

test("F0.49 an API key of an MCP entry is sent in its header beside the token, and refused with its place where nothing would send it", async () => {
  const seen: unknown[] = [];
  const { url } = await loopbackMcp({
    ...legacy(),
    "tools/list": () => toolList(["t"]),
    "tools/call": ({ headers }) => {
      seen.push([headers["authorization"], headers["x-key"]]);
      return text("ok");
    },
  });
  const entry = (location: string): string =>
    `tools: [{ type: mcp, url: "${url}", namespace: d, bearer_token: t, api_key: { name: x-key, value: "\${KEY}"${location} } }]`;
  const runtime = await runtimeOf({ "haft.yaml": entry("") }, { KEY: "k3y" });
  await runtime.open();
  await runtime.execute({ name: "d::t" });

  expect(seen).toEqual([["Bearer t", "k3y"]]);
  expect(await problemsOf("haft.yaml", entry(", location: query"), { KEY: "k3y" })).toEqual([
    expect.stringMatching(/^haft\.yaml:1:\d+: tools\[0\]\.api_key: an MCP server is sent a key in a header only/u),
  ]);
});
