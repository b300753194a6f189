/** Enrichments of a configuration also see the tools that engines bring (requirement F0.13), and each engine is opened once. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { buildRuntimeParts, loadConfig, type Extensions } from "../../src/config/config.ts";
import { createEnrichedSource } from "../../src/config/build/build-enrichments.ts";
import type { Engine } from "../../src/core/engine.ts";
import type { Tool } from "../../src/core/tool.ts";
import { knownTools, serverStateOf } from "../../src/engine/known-tools.ts";
import { MCP_PEER, mcpPeerOf, type McpPeer } from "../../src/engine/mcp/peer.ts";
import { generateConversations } from "../../src/generate/conversations/generate-conversations.ts";
import { DataflowGraph, dataflow, outputSchemas, type Enrichment } from "../../src/generate/generate.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { configFolder } from "./config-folder.ts";

const tool = (name: string, input: object = {}, output?: object): Tool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: input },
  ...(output !== undefined && { outputSchema: { type: "object", properties: output } }),
});
const BERTH = { berth_number: { type: "integer" } };
const SHIP = { ship_name: { type: "string" } };

/** Gives each tool without an output schema one, and notes how many tools it saw. */
function stamping(seen: string[][] = []): Enrichment {
  return {
    key: "stamp",
    enrich({ tools }) {
      seen.push(tools.map(({ id }) => id));
      const changed = tools.filter(({ tool: one }) => one.outputSchema === undefined);
      return { tools: new Map(changed.map(({ id, tool: one }) => [id, { ...one, outputSchema: { type: "object", properties: BERTH } }])) };
    },
  };
}

/** An engine that brings these tools, and counts. */
function bringing(tools: () => readonly Tool[]) {
  const count = { open: 0, close: 0 };
  let change = (): void => {};
  const engine: Engine = {
    kind: "far",
    async open({ changed }) {
      count.open++;
      change = changed;
      return tools();
    },
    list: async () => tools(),
    call: ({ tool: called }) => ({ called: called.name }),
    close: async () => void count.close++,
  };
  return { engine, count, change: () => change() };
}

function runtimeOf(parts: Parameters<typeof createEnrichedSource>[0], enrichments: readonly Enrichment[]) {
  const enriched = createEnrichedSource(parts, enrichments);
  const ports = fakePorts();
  const runtime = createRuntime({ sources: [enriched], ports });
  onTestFinished(async () => void (await runtime.close()));
  return { enriched, runtime, ports };
}

test("tools listed by engines are enriched together with all others, and each engine is opened and closed once", async () => {
  const [harbour, crane] = [bringing(() => [tool("find_ship", SHIP)]), bringing(() => [tool("move_crane", BERTH)])];
  const toolsets = [
    { name: "harbour", engine: harbour.engine },
    { name: "crane", engine: crane.engine },
    { name: "yard", tools: [tool("open_gate")] },
  ];
  const { runtime, enriched } = runtimeOf({ toolsets, sources: [] }, [stamping(), dataflow()]);

  expect((await runtime.open()).failed).toEqual([]);
  const session = runtime.session();
  const result = await session.execute({ name: "crane::move_crane", input: { berth_number: 3 } });

  expect(runtime.registry.require("harbour::find_ship").tool.outputSchema).toMatchObject({ properties: BERTH });
  expect(runtime.registry.require("yard::open_gate").tool.outputSchema).toMatchObject({ properties: BERTH });
  expect(enriched.enriched.tools.map(({ id }) => id).sort()).toEqual(["crane::move_crane", "harbour::find_ship", "yard::open_gate"]);
  const edges = enriched.enriched.artifacts.require("dataflow", DataflowGraph).edges;
  expect(edges.map(({ from, to }) => `${from.tool} ${to.tool}`)).toContain("harbour::find_ship crane::move_crane");
  expect(result).toMatchObject({ status: "ok", output: { called: "move_crane" } });
  await runtime.close();
  expect([harbour.count, crane.count]).toEqual([
    { open: 1, close: 1 },
    { open: 1, close: 1 },
  ]);
});

test("changed tools of an engine are enriched again, and removed tools disappear from the artifacts", async () => {
  let tools = [tool("find_ship", SHIP)];
  const harbour = bringing(() => tools);
  const { runtime, enriched, ports } = runtimeOf({ toolsets: [{ name: "harbour", engine: harbour.engine }], sources: [] }, [stamping()]);
  await runtime.open();

  tools = [tool("find_pilot", SHIP)];
  harbour.change();
  await ports.clock.advance(2_000);
  await vi.waitFor(() => expect(runtime.registry.names()).toContain("harbour::find_pilot"));

  expect(runtime.registry.require("harbour::find_pilot").tool.outputSchema).toMatchObject({ properties: BERTH });
  expect(enriched.enriched.tools.map(({ id }) => id)).toEqual(["harbour::find_pilot"]);
  await runtime.refresh();
  expect(harbour.count.open).toBe(1);
  expect(enriched.enriched.tools.map(({ id }) => id)).toEqual(["harbour::find_pilot"]);
});

test("tools whose enrichment fails are kept as the engine listed them, with a warning, and other tools are enriched", async () => {
  const [harbour, crane] = [bringing(() => [tool("find_ship", SHIP)]), bringing(() => [tool("move_crane", BERTH)])];
  const failing: Enrichment = {
    key: "failing",
    enrich: ({ tools }) => {
      if (tools.some(({ id }) => id === "harbour::find_ship")) throw new Error("no fuel");
      return {};
    },
  };
  const toolsets = [
    { name: "harbour", engine: harbour.engine },
    { name: "crane", engine: crane.engine },
  ];
  const { runtime, ports } = runtimeOf({ toolsets, sources: [] }, [failing, stamping()]);

  expect((await runtime.open()).failed).toEqual([]);
  expect(runtime.registry.require("harbour::find_ship").tool.outputSchema).toBeUndefined();
  const { failed } = await runtime.refresh();
  expect(failed).toEqual([]);
  expect(runtime.registry.require("crane::move_crane").tool.outputSchema).toMatchObject({ properties: BERTH });
  expect(ports.log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/The tools of "harbour" are not enriched: .*no fuel/u),
  );
  await runtime.close();
  expect(harbour.count).toEqual({ open: 1, close: 1 });
});

test("a model is asked once per tool, however many servers open, and again if force is set", async () => {
  const engines = ["one", "two", "three"].map((name) => ({ name, engine: bringing(() => [tool(name)]).engine }));
  const ask = async (force: boolean): Promise<number> => {
    let asked = 0;
    const model = async () => (asked++, '{"type": "object", "properties": {"berth_number": {"type": "integer"}}}');
    const { runtime } = runtimeOf({ toolsets: engines, sources: [] }, [outputSchemas({ model, force })]);
    await runtime.open();
    return asked;
  };

  expect(await ask(false)).toBe(3);
  expect(await ask(true)).toBeGreaterThan(3);
});

test("an enrichment that never ends is abandoned when the runtime closes, and the engine is closed", async () => {
  const harbour = bringing(() => [tool("find_ship", SHIP)]);
  const endless: Enrichment = { key: "endless", enrich: ({ tools }) => (tools.length === 0 ? {} : new Promise(() => {})) };
  const { runtime } = runtimeOf({ toolsets: [{ name: "harbour", engine: harbour.engine }], sources: [] }, [endless]);

  const opening = runtime.open();
  await vi.waitFor(() => expect(harbour.count.open).toBe(1));
  await runtime.close();
  expect((await opening).failed).toHaveLength(1);
  await vi.waitFor(() => expect(harbour.count.close).toBe(1));
});

test("an enriched engine keeps its state, its peer and the methods of the inner engine", async () => {
  const peer = { name: "harbour" } as McpPeer;
  const inner: Engine & { readonly [MCP_PEER]: McpPeer } = {
    ...bringing(() => []).engine,
    origin: "simulated",
    snapshotSession: () => 5,
    attach: (remoteId) => remoteId,
    [MCP_PEER]: peer,
  };
  const lazy = knownTools(inner, { identity: {}, memory: { read: async () => undefined, write: async () => {} } });
  const source = createEnrichedSource({ toolsets: [{ name: "a", engine: lazy }], sources: [] }, [stamping()]);
  const [toolset] = await source.load({ signal: new AbortController().signal, log: fakePorts().log });
  const engine = toolset?.engine;
  if (engine === undefined) throw new Error("the toolset has no engine");
  expect(engine).not.toBe(lazy);
  expect([serverStateOf(engine), mcpPeerOf(engine)?.name, engine.origin]).toEqual([serverStateOf(lazy), "harbour", "simulated"]);
  expect(engine.snapshotSession?.("s")).toBe(5);
  expect(engine.forkSession).toBeUndefined();
  expect(Object.keys(engine).sort()).toEqual(Object.keys(lazy).sort());
});

const MEMORY = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol/server-memory/dist/index.js", import.meta.url));

test("issue 16 chains are sampled over the tools of a real MCP server after the configured enrichments", async () => {
  const seen: string[][] = [];
  const extensions: Extensions = { enrichments: { stamp: () => stamping(seen) } };
  const yaml = `tools:
  registry: [{ type: mcp, namespace: memory, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(MEMORY)}] }]
  enrichments: [{ type: stamp }, { type: dataflow }]
`;
  const path = join(configFolder({ "haft.yaml": yaml }), "haft.yaml");
  const parts = await buildRuntimeParts(await loadConfig(path, { environment: { PATH: process.env["PATH"] ?? "" }, extensions }));
  const answers = { engines: { example: exampleEngine({ seed: 1 }) }, rules: [{ tools: "*", from: "example" as const }] };
  const runtime = createRuntime({ toolsets: parts.toolsets, sources: parts.sources, answers });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);

  const lines: string[] = [];
  const plan = { kind: "sampled", count: 5, calls: 3, sample: "chain" } as const;
  const summary = await generateConversations({ runtime, plan, seed: "s", out: { write: async (line) => void lines.push(line) } });

  expect(seen.at(-1)).toContain("memory::create_entities");
  expect(parts.enriched?.enriched.artifacts.require("dataflow", DataflowGraph)).toBeInstanceOf(DataflowGraph);
  expect([summary.written, summary.failed, lines.length]).toEqual([5, 0, 5]);
});
