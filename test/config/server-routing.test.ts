/** Every call goes to the server that its entry brings, whatever engines stand beside it. */
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { configuredRuntime } from "../../src/config/config.ts";
import { ToolError } from "../../src/core/error.ts";
import { resultText } from "../../src/core/result.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { legacy, loopbackMcp, text, toolList } from "../engine/mcp/loopback-mcp.ts";
import { recordingServer } from "../engine/rest/recording-server.ts";
import { configFolder } from "./config-folder.ts";

type ServerName = "mcp A" | "mcp B" | "rest A" | "rest B";
const SERVERS: readonly ServerName[] = ["mcp A", "mcp B", "rest A", "rest B"];
/** Engines without a server of their own. */
const PLAIN = ["mcp", "rest", "example", "local", "multi"] as const;

interface Entry {
  readonly server: ServerName | undefined;
  readonly engine: number | undefined;
}

interface Plan {
  readonly entries: readonly Entry[];
  readonly engines: readonly string[];
}

const planArbitrary: fc.Arbitrary<Plan> = fc.array(fc.constantFrom(...SERVERS, ...PLAIN), { maxLength: 3 }).chain((engines) =>
  fc.record({
    engines: fc.constant(engines),
    entries: fc.array(
      fc.record({
        server: fc.option(fc.constantFrom(...SERVERS), { nil: undefined, freq: 5 }),
        engine: engines.length === 0 ? fc.constant(undefined) : fc.option(fc.nat(engines.length - 1), { nil: undefined }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
);

/** Four servers, each with the tool `t`, which answers with the name of the server. */
async function startServers(): Promise<Readonly<Record<ServerName, Readonly<Record<string, unknown>>>>> {
  const mcp = async (name: string) => {
    const { url } = await loopbackMcp({ ...legacy(), "tools/list": () => toolList(["t"]), "tools/call": () => text(name) });
    return { type: "mcp", url };
  };
  const rest = async (name: string) => {
    const paths = { "/t": { get: { operationId: "t", responses: { 200: { description: "" } } } } };
    const document = JSON.stringify({ openapi: "3.1.0", info: { title: name, version: "1" }, paths });
    const { url, host } = await recordingServer((request) => ({ body: request.url === "/t" ? JSON.stringify(name) : document }));
    return { type: "rest", spec: `${url}/openapi.json`, base_url: url, allowPrivate: [host] };
  };
  return { "mcp A": await mcp("mcp A"), "mcp B": await mcp("mcp B"), "rest A": await rest("rest A"), "rest B": await rest("rest B") };
}

/** By entry: the text of the answer; or the places of the problems of a configuration that was refused. */
async function answersOf(
  { entries, engines }: Plan,
  servers: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Promise<{ readonly answers: readonly string[] } | { readonly problems: readonly string[] }> {
  const config = {
    tools: {
      registry: entries.map(({ server, engine }, index) => ({
        ...(server === undefined ? { type: "inline", tools: [{ name: "t", description: "T" }] } : servers[server]),
        namespace: `n${index}`,
        ...(engine === undefined ? {} : { engine: `e${engine}` }),
      })),
      engines: Object.fromEntries(engines.map((engine, index) => [`e${index}`, servers[engine] ?? { type: engine }])),
    },
  };
  const folder = configFolder({ "haft.json": JSON.stringify(config, undefined, 1) });
  try {
    const options = await configuredRuntime(join(folder, "haft.json"), { environment: {} });
    await using runtime = createRuntime({ ...options, ports: fakePorts() });
    await runtime.open();
    const results = await runtime.execute(entries.map((_, index) => ({ name: `n${index}::t`, input: {} })));
    return { answers: results.map((result) => (result.origin === "live" ? resultText(result) : result.origin)) };
  } catch (error: unknown) {
    if (error instanceof ToolError && error.code === "invalid_config") return { problems: error.details };
    throw error;
  }
}

test("F0.58 a call is answered by its entry's server or by the stand-in it names, or else the configuration is refused", async () => {
  const servers = await startServers();

  await fc.assert(
    fc.asyncProperty(planArbitrary, async (plan) => {
      const outcome = await answersOf(plan, servers);
      if ("problems" in outcome) {
        expect(outcome.problems).not.toEqual([]);
        for (const problem of outcome.problems) expect(problem).toMatch(/haft\.json:\d+:\d+: tools\./u);
        return;
      }
      plan.entries.forEach(({ server, engine }, index) => {
        if (server === undefined) return;
        const named = engine === undefined ? undefined : plan.engines[engine];
        expect([index, outcome.answers[index]]).toEqual([index, expect.stringContaining(named === "example" ? "simulated" : server)]);
      });
    }),
    { numRuns: 60 },
  );
}, 60_000);

test.each([
  ["another MCP server", "mcp A", "mcp B", /engine: engine "e0" reaches another server than the url of this entry/u],
  ["another service", "rest A", "rest B", /engine: engine "e0" reaches another server than the document of this entry/u],
  ["a service where the entry has an MCP server", "mcp A", "rest B", /engine: engine "e0" reaches another server/u],
] as const)("F0.58 an entry that names an engine for %s is refused with its place", async (_what, server, engine, problem) => {
  const servers = await startServers();
  const outcome = await answersOf({ entries: [{ server, engine: 0 }], engines: [engine] }, servers);

  expect(outcome).toEqual({ problems: [expect.stringMatching(problem)] });
});

test("F0.58 entries with the same server each have its tools, whether they name the engine or not", async () => {
  const servers = await startServers();
  const entries = [0, undefined, 0, undefined].map((engine) => ({ server: "mcp A" as const, engine }));
  const { answers } = (await answersOf({ entries, engines: ["mcp A"] }, servers)) as { readonly answers: readonly string[] };

  expect(answers.map((answer) => answer.includes("mcp A"))).toEqual([true, true, true, true]);
});

test("F0.58 server settings of an entry override those of the engine that it names", async () => {
  const tokens: unknown[] = [];
  const { url } = await loopbackMcp({
    ...legacy(),
    "tools/list": () => toolList(["t"]),
    "tools/call": ({ headers }) => {
      tokens.push(headers["x-who"]);
      return text("ok");
    },
  });
  const entry = (who: string | undefined, namespace: string) =>
    ({ type: "mcp", url, namespace, engine: "live", ...(who === undefined ? {} : { headers: { "x-who": who } }) }) as const;
  const config = {
    tools: {
      registry: [entry("entry", "a"), entry(undefined, "b")],
      engines: { live: { type: "mcp", url, headers: { "x-who": "engine" } } },
    },
  };
  const folder = configFolder({ "haft.json": JSON.stringify(config) });
  const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.json"), { environment: {} })), ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  await runtime.execute({ name: "a::t", input: {} });
  await runtime.execute({ name: "b::t", input: {} });

  expect(tokens).toEqual(["entry", "engine"]);
});

test("F0.58 operation_ids of an entry apply although its rest engine has operation_ids of its own", async () => {
  const paths = Object.fromEntries(
    ["a", "b"].map((id) => [`/${id}`, { get: { operationId: id, responses: { 200: { description: "" } } } }]),
  );
  const config = {
    tools: {
      registry: [{ type: "rest", spec: "shop.json", operation_ids: ["a"], namespace: "shop", engine: "r" }],
      engines: { r: { type: "rest", spec: "shop.json", base_url: "http://127.0.0.1:1", operation_ids: ["b"] } },
    },
  };
  const folder = configFolder({
    "haft.json": JSON.stringify(config),
    "shop.json": JSON.stringify({ openapi: "3.1.0", info: { title: "", version: "1" }, paths }),
  });
  const runtime = createRuntime({ ...(await configuredRuntime(join(folder, "haft.json"), { environment: {} })), ports: fakePorts() });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();

  expect(runtime.registry.list("shop").map(({ tool }) => tool.name)).toEqual(["a"]);
});
