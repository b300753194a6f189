/**
 * An option that does not exist is refused by its name, wherever the package takes options: a misspelt limit is no limit. The public
 * functions are read from the entries, so that a new one without a row fails here.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import * as adapters from "../../src/adapters/adapters.ts";
import * as config from "../../src/config/config.ts";
import { mcpEngine, mcpToolset, UserLogins } from "../../src/engine/mcp.ts";
import { openApiToolset, restEngine } from "../../src/engine/rest.ts";
import { searchEngine } from "../../src/engine/search.ts";
import * as generate from "../../src/generate/generate.ts";
import * as haft from "../../src/index.ts";
import * as models from "../../src/model/models.ts";
import * as chain from "../../src/public/chain.ts";
import * as delegate from "../../src/public/delegate.ts";
import { reactLimits, reasonToStop, stopByVote } from "../../src/public/loop.ts";
import { programToolset, programTools } from "../../src/public/program.ts";
import * as prompt from "../../src/public/prompt.ts";
import { importRecording, replayEngine, toolsetsOfRecording } from "../../src/public/recording.ts";
import { checkSequence, runSequence } from "../../src/public/sequence.ts";
import { diffSessions } from "../../src/public/session.ts";
import * as simulation from "../../src/public/simulation.ts";
import { folderArtifacts, memoryStore, StoredApprovals } from "../../src/public/store.ts";
import * as toolsets from "../../src/public/toolsets.ts";
import * as triggers from "../../src/public/triggers.ts";
import { visibilityOf, visibleTools } from "../../src/public/tools.ts";
import { WebhookSender } from "../../src/server/webhooks.ts";
import * as server from "../../src/server/mcp.ts";
import * as httpServer from "../../src/server.ts";
import { CallClient } from "../../src/server/mcp/call-client.ts";
import { postgresStore } from "../../src/store/postgres-store.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import * as testing from "../../src/testing/index.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { findToolsToolset } from "../../src/toolsets/find-tools.ts";
import { mcpAccessToolset } from "../../src/toolsets/mcp-access.ts";
import { jobsToolset } from "../../src/toolsets/jobs.ts";
import { pythonToolset, shellToolset } from "../../src/toolsets/shell.ts";
import { infoToolset } from "../../src/toolsets/info.ts";
import * as wire from "../../src/wire/wire.ts";

/** Calls a public function with an option that it does not have, beside those it needs. */
type Try = (unknown: object) => unknown;

/** A function that takes no options, or none of ours. */
const NONE = "takes no options";
const ERROR = "an error that is being made is not replaced by another";
const FORMAT = "takes no options; those of its methods come from httpModel()";

const folder = mkdtempSync(join(tmpdir(), "haft-unknown-options-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tool = haft.defineTool({ name: "t", description: "Does nothing.", inputSchema: {}, execute: () => 1 });
const runtime = haft.createRuntime({ tools: [tool] });
const model = testing.scriptedModel([]);
const parts = { model, session: runtime.session() };
const loop = haft.createLoop(parts);
const enriched = await generate.enrich(runtime.registry, [
  generate.dataflow(),
  generate.embeddings({ embed: async (texts) => texts.map(() => [1]) }),
  generate.neighbors(),
]);
const plan = { kind: "sampled", count: 1 } as const;
const generation = { runtime, plan, out: { write: async () => undefined } };
const answer = (options: object): haft.RuntimeOptions => ({ answers: options });
const format = wire.openAiChat();
const http = { format, model: "m", baseUrl: "https://models.example" };
const corpus = { documents: [] };
const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, paths: {} };
const bearer = { type: "bearer", token: "t" } as const;
const reader = new CallClient({ era: "modern", capabilities: {}, newId: () => "1" }, undefined as never);
const held = <T>(work: (turn: haft.SessionTurn) => T): Promise<T> => runtime.session().turn(async (turn) => work(turn));
const source = { name: "s", load: async () => [] };
const made = (given: unknown): unknown => given;

const ROWS: Readonly<Record<string, readonly Try[] | string>> = {
  // haft
  EmergencyStop: [(unknown) => new haft.EmergencyStop(unknown)],
  RemoteJob: "takes what an engine has made, with all that it has",
  Registry: [
    (unknown) => new haft.Registry(unknown),
    (unknown) => new haft.Registry({ defaults: unknown }),
    (unknown) => new haft.Registry({ permission: unknown }),
  ],
  "Registry.register": [(unknown) => new haft.Registry().register(tool, "default", unknown)],
  "Registry.search": [(unknown) => runtime.registry.search(unknown)],
  Runtime: [(unknown) => new haft.Runtime(unknown)],
  "Runtime.events": [(unknown) => runtime.events(unknown), (unknown) => runtime.events({ filter: unknown })],
  "Runtime.execute": [(unknown) => runtime.execute([], unknown)],
  "Runtime.loop": [(unknown) => runtime.loop({ model, ...unknown })],
  "Runtime.resume": [(unknown) => runtime.resume("s", unknown)],
  "Runtime.session": [(unknown) => runtime.session("s", unknown)],
  "Runtime.simulate": [(unknown) => runtime.simulate([], unknown)],
  ToolError: ERROR,
  ToolExecutionError: ERROR,
  ToolOutput: [(unknown) => new haft.ToolOutput(unknown)],
  createAgent: [
    (unknown) => haft.createAgent({ ...parts, ...unknown }),
    (unknown) => haft.createAgent(parts).send("hi", unknown),
    (unknown) => haft.createAgent(parts).start(unknown),
  ],
  createLoop: [
    (unknown) => haft.createLoop({ ...parts, ...unknown }),
    (unknown) => haft.createLoop({ ...parts, limits: unknown }),
    (unknown) => haft.createLoop({ ...parts, limits: { budget: unknown } }),
    (unknown) => haft.createLoop({ ...parts, limits: { budget: { calls: unknown } } }),
    (unknown) => haft.createLoop({ ...parts, limits: { repeat: unknown } }),
    (unknown) => haft.createLoop({ ...parts, limits: { repeat: { failures: unknown } } }),
    (unknown) => haft.createLoop({ ...parts, limits: { repeat: { answers: unknown } } }),
    (unknown) => haft.createLoop({ ...parts, allow: unknown }),
    (unknown) => haft.createLoop({ ...parts, calls: unknown }),
    (unknown) => haft.createLoop({ ...parts, history: unknown }),
    (unknown) => haft.createLoop({ ...parts, history: { trim: unknown } }),
    (unknown) => haft.createLoop({ ...parts, taint: { sources: [], sensitive: [], ...unknown } }),
  ],
  createRuntime: [
    (unknown) => haft.createRuntime(unknown),
    (unknown) => haft.createRuntime({ jobs: unknown }),
    (unknown) => haft.createRuntime({ approval: unknown }),
    (unknown) => haft.createRuntime({ cache: unknown }),
    (unknown) => haft.createRuntime({ circuit: unknown }),
    (unknown) => haft.createRuntime({ faults: { rules: [], ...unknown } }),
    (unknown) => haft.createRuntime({ faults: { rules: [{ type: "latency", probability: 1, ...unknown }] } }),
    (unknown) => haft.createRuntime({ hooks: [{ name: "h", ...unknown }] }),
    (unknown) => haft.createRuntime({ inputLimits: unknown }),
    (unknown) => haft.createRuntime({ permission: unknown }),
    (unknown) => haft.createRuntime({ retry: unknown }),
    (unknown) => haft.createRuntime({ toolsets: [{ name: "s", ...unknown }] }),
    (unknown) => haft.createRuntime({ toolsets: [{ name: "s", defaults: unknown }] }),
    (unknown) => haft.createRuntime(answer(unknown)),
    (unknown) => haft.createRuntime(answer({ rules: [{ tools: "*", from: "live", ...unknown }] })),
  ],
  defineHook: [(unknown) => haft.defineHook({ tool, name: "h", beforeCall: () => undefined, ...unknown })],
  defineTool: [(unknown) => haft.defineTool({ name: "t", description: "d", inputSchema: {}, ...unknown })],
  external: "is effects, and no function",
  perSession: NONE,
  pure: "is effects, and no function",
  readOnly: NONE,
  outputOf: NONE,
  resultText: NONE,
  stopAfterRounds: NONE,
  stopAtKeyword: NONE,
  toolDefinition: NONE,
  toolFromJson: "reads data",
  toolFunction: [(unknown) => haft.toolFunction({ description: "d", inputSchema: {}, ...unknown }, function act() {})],
  toolToJson: NONE,
  // what these give
  "Loop.resume": [(unknown) => loop.resume({ decisions: {}, ...unknown }), (unknown) => loop.resume({ decisions: {} }, unknown)],
  "Loop.run": [(unknown) => loop.run("Hello.", unknown)],
  "Loop.stream": [(unknown) => loop.stream("Hello.", unknown).next()],
  "Round.add": [(unknown) => held((turn) => turn.round().add({ kind: "json", id: "1", name: "t", input: {} } as never, unknown))],
  "RuntimeSession.execute": [
    (unknown) => runtime.session().execute([], unknown),
    (unknown) => runtime.session().execute([], { idempotencyKey: "k", ...unknown }),
  ],
  "RuntimeSession.receive": [(unknown) => runtime.session().receive({ role: "user", content: "hi" }, unknown)],
  "RuntimeSession.setTriggerPaused": [(unknown) => runtime.session().setTriggerPaused("t", true, unknown)],
  "RuntimeSession.submit": [(unknown) => runtime.session().submit({ name: "t" }, unknown)],
  "RuntimeSession.commit": [(unknown) => runtime.session().commit(unknown)],
  "RuntimeSession.fork": [(unknown) => runtime.session().fork(unknown)],
  "RuntimeSession.forkAt": [(unknown) => runtime.session().forkAt(0, unknown)],
  "RuntimeSession.messages": [(unknown) => runtime.session().messages(unknown), (unknown) => runtime.session().messages({ trim: unknown })],
  "RuntimeSession.simulate": [(unknown) => runtime.session().simulate([], unknown)],
  "RuntimeSession.turn": [(unknown) => runtime.session().turn(async () => 1, unknown)],
  "SessionTurn.round": [(unknown) => held((turn) => turn.round(unknown))],
  "McpClient.elicit": [(unknown) => reader.elicit({ message: "?" }, unknown)],
  "McpClient.listRoots": [(unknown) => reader.listRoots(unknown)],
  "McpClient.sample": [(unknown) => reader.sample({}, unknown)],
  // haft/tools
  Visibility: "takes layers that visibilityOf has read",
  qualifiedName: NONE,
  splitName: NONE,
  visibilityOf: [(unknown) => visibilityOf(unknown), (unknown) => visibilityOf([{ allow: ["*"] }, unknown])],
  visibleTools: [(unknown) => visibleTools(runtime.registry, unknown)],
  withProgramShape: NONE,
  withSuccessShape: NONE,
  // haft/session
  diffSessions: [(unknown) => diffSessions(runtime.session(), runtime.session(), unknown)],
  storedEvents: NONE,
  supersedesAt: NONE,
  supersedesSameInput: NONE,
  // haft/loop
  reasonToStop: [
    (unknown) => reasonToStop({ calls: [], finish: "stop", rounds: 1 }, unknown),
    (unknown) => reasonToStop({ calls: [], finish: "stop", rounds: 1, ...unknown }),
  ],
  reactLimits: [(unknown) => reactLimits(unknown)],
  stopAfterMs: NONE,
  stopByVote: [(unknown) => stopByVote([], unknown)],
  // haft/prompt
  buildPrompt: [(unknown) => prompt.buildPrompt(runtime.registry, unknown)],
  documentationOf: [(unknown) => prompt.documentationOf(runtime.registry, "t", unknown)],
  modelTools: [(unknown) => prompt.modelTools(runtime.registry, unknown)],
  patchOptions: [(unknown) => prompt.patchOptions({ format: "gemini", name: "google_search", ...unknown }, {}, {})],
  providerTools: [(unknown) => prompt.providerTools([], "gemini", unknown)],
  // haft/chain
  createChain: [
    (unknown) => chain.createChain([{ tool: "x", ...unknown }]),
    (unknown) => chain.createChain([{ tool: "t" }]).run(runtime, {}, unknown),
  ],
  // haft/program
  programToolset: [(unknown) => programToolset(unknown)],
  programTools: [(unknown) => programTools(runtime.registry, unknown)],
  chainOfProgram: NONE,
  // haft/sequence
  checkSequence: [(unknown) => checkSequence([], unknown)],
  delegateTool: [
    (unknown) => delegate.delegateTool({ name: "d", description: "D", model, ...unknown }),
    (unknown) => delegate.delegateTool({ name: "d", description: "D", model, limits: unknown }),
    (unknown) => delegate.delegateTool({ name: "d", description: "D", model, allow: unknown }),
  ],
  delegatesToolset: [(unknown) => delegate.delegatesToolset({ delegates: [], ...unknown })],
  sessionWithin: [(unknown) => delegate.sessionWithin({} as haft.ToolContext, unknown)],
  runSequence: [(unknown) => runSequence(runtime, [], unknown)],
  // haft/recording
  importRecording: [(unknown) => importRecording(memoryStore(), "", unknown)],
  parseRecording: NONE,
  readRecording: NONE,
  replayEngine: [(unknown) => replayEngine([], unknown)],
  toolsetsOfRecording: [(unknown) => toolsetsOfRecording([], unknown)],
  writeRecording: "writes the header that it is given",
  // haft/schema
  ValidationResult: NONE,
  importSchema: NONE,
  validateInput: NONE,
  validateOutput: NONE,
  // haft/store, haft/sqlite, haft/postgres, haft/webhooks
  StoredApprovals: [(unknown) => new StoredApprovals({ store: memoryStore().approvals, ...unknown })],
  "StoredApprovals.list": [(unknown) => new StoredApprovals({ store: memoryStore().approvals }).list(unknown)],
  WebhookSender: [(unknown) => new WebhookSender({ store: memoryStore(), webhooks: [], ...unknown })],
  artifactId: NONE,
  artifactOf: NONE,
  artifactUri: NONE,
  artifactsOf: NONE,
  attachArtifacts: NONE,
  folderArtifacts: [(unknown) => folderArtifacts({ path: folder, ...unknown })],
  memoryStore: NONE,
  sqliteStore: [(unknown) => sqliteStore({ path: ":memory:", ...unknown })],
  postgresStore: [(unknown) => postgresStore({ url: "postgres://localhost/haft", ...unknown })],
  // haft/testing
  FakeClock: [(unknown) => new testing.FakeClock(unknown)],
  MemoryLog: NONE,
  countingIds: NONE,
  fakePorts: [(unknown) => testing.fakePorts(unknown)],
  recordedAnswer: NONE,
  recordedToolsets: [(unknown) => testing.recordedToolsets([], unknown)],
  scriptedModel: [
    (unknown) => testing.scriptedModel([], unknown),
    (unknown) => models.collectReply(testing.scriptedModel([unknown]).stream({ messages: [] })),
  ],
  seededRandom: NONE,
  settle: NONE,
  // haft/mcp, haft/rest, haft/search, haft/files, haft/info
  filesToolset: [(unknown) => filesToolset({ root: folder, ...unknown })],
  findToolsToolset: [(unknown) => findToolsToolset(unknown)],
  mcpAccessToolset: [(unknown) => mcpAccessToolset(unknown)],
  jobsToolset: [(unknown) => jobsToolset(unknown)],
  shellToolset: [(unknown) => shellToolset({ root: folder, ...unknown })],
  pythonToolset: [(unknown) => pythonToolset({ root: folder, ...unknown })],
  // haft/toolsets
  askToolset: [(unknown) => toolsets.askToolset(unknown)],
  memoryToolset: [(unknown) => toolsets.memoryToolset(unknown)],
  notebookToolset: [(unknown) => toolsets.notebookToolset({ root: folder, ...unknown })],
  scratchpadOf: NONE,
  scratchpadToolset: [(unknown) => toolsets.scratchpadToolset(unknown)],
  skillsToolset: [(unknown) => toolsets.skillsToolset({ folder, ...unknown })],
  webToolset: [
    (unknown) => toolsets.webToolset(unknown),
    (unknown) => toolsets.webToolset({ search: { provider: "searxng", url: "http://a", ...unknown } }),
  ],
  // haft/triggers
  createChannels: [
    (unknown) => triggers.createChannels(unknown),
    (unknown) => triggers.createChannels().open("c", unknown),
    (unknown) =>
      triggers
        .createChannels()
        .open("c")
        .send("hi", { sender: "a", ...unknown }),
    (unknown) => triggers.createChannels().open("c").subscribe("a", unknown),
    (unknown) => triggers.createChannels().open("c").subscribe("a").receive(unknown),
  ],
  createTriggers: [
    (unknown) => triggers.createTriggers(unknown),
    (unknown) =>
      triggers
        .createTriggers()
        .of(runtime.session())
        .add({ type: "timer", interval: 1, prompt: "x", ...unknown }),
  ],
  channelsToolset: [(unknown) => triggers.channelsToolset({ channels: triggers.createChannels(), ...unknown })],
  triggersToolset: [(unknown) => triggers.triggersToolset({ triggers: triggers.createTriggers(), ...unknown })],
  infoToolset: [(unknown) => infoToolset(unknown)],
  UserLogins: [(unknown) => new UserLogins({ origin: "https://tools.example", ...unknown })],
  mcpEngine: [
    (unknown) => mcpEngine({ command: "x", ...unknown }),
    (unknown) => mcpEngine({ url: "https://mcp.example", auth: { ...bearer, ...unknown } }),
  ],
  mcpToolset: [(unknown) => mcpToolset("s", { command: "x", ...unknown })],
  openApiToolset: [(unknown) => openApiToolset("s", { document, ...unknown })],
  readOverrides: NONE,
  restEngine: [
    (unknown) => restEngine({ document, ...unknown }),
    (unknown) => restEngine({ document, auth: { ...bearer, ...unknown } }),
    (unknown) => restEngine({ document, auth: { key: { ...bearer, ...unknown } } }),
  ],
  searchEngine: [(unknown) => searchEngine({ ...corpus, ...unknown })],
  // haft/simulation
  NoAnswer: ERROR,
  exampleEngine: [(unknown) => simulation.exampleEngine(unknown)],
  exampleValue: [(unknown) => simulation.exampleValue({}, { random: testing.seededRandom(1), ...unknown })],
  lmEngine: [(unknown) => simulation.lmEngine({ model, ...unknown })],
  readStubs: "reads data",
  stubEngine: [(unknown) => simulation.stubEngine([], unknown)],
  // haft/config
  buildRuntimeParts: [(unknown) => config.buildRuntimeParts({} as config.LoadedConfig, unknown)],
  configuredRuntime: [(unknown) => config.configuredRuntime(join(folder, "none.toml"), unknown)],
  descriptorSource: [(unknown) => config.descriptorSource({ name: "s", path: folder, ...unknown })],
  fileSource: [(unknown) => config.fileSource({ path: "tools.yaml", ...unknown })],
  findConfig: NONE,
  loadConfig: [(unknown) => config.loadConfig(join(folder, "none.toml"), unknown)],
  lockPath: NONE,
  readLock: NONE,
  toolPins: NONE,
  // haft/generate
  Artifacts: NONE,
  DataflowGraph: NONE,
  Enriched: NONE,
  SamplingError: ERROR,
  ToolNeighbors: NONE,
  ToolVectors: NONE,
  chainSampler: [
    (unknown) => generate.chainSampler(enriched, { k: 1, ...unknown }),
    (unknown) => generate.chainSampler(enriched, { k: 1 }).sample(unknown),
  ],
  dataflow: [(unknown) => generate.dataflow(unknown)],
  embeddings: [(unknown) => generate.embeddings({ embed: async () => [], ...unknown })],
  enrich: [(unknown) => generate.enrich(runtime.registry, [], unknown)],
  enrichedSource: [(unknown) => generate.enrichedSource(source, [], unknown)],
  fanInSampler: [
    (unknown) => generate.fanInSampler(enriched, { k: 1, ...unknown }),
    (unknown) => generate.fanInSampler(enriched, { k: 1 }).sample(unknown),
  ],
  fanOutSampler: [
    (unknown) => generate.fanOutSampler(enriched, { k: 1, ...unknown }),
    (unknown) => generate.fanOutSampler(enriched, { k: 1 }).sample(unknown),
  ],
  generateConversations: [
    (unknown) => generate.generateConversations({ ...generation, ...unknown }),
    (unknown) => generate.generateConversations({ ...generation, plan: { ...plan, ...unknown } }),
    (unknown) => generate.generateConversations({ ...generation, plan: { kind: "scripted", templates: [], ...unknown } }),
    (unknown) => generate.generateConversations({ ...generation, plan: { kind: "played", templates: [], model, ...unknown } }),
  ],
  modelWriter: [(unknown) => generate.modelWriter({ model, ...unknown })],
  namedSamplers: "takes samplers by names of the program's own",
  plainWriter: NONE,
  neighborSampler: [
    (unknown) => generate.neighborSampler(enriched, { k: 1, ...unknown }),
    (unknown) => generate.neighborSampler(enriched, { k: 1 }).sample(unknown),
  ],
  neighbors: [(unknown) => generate.neighbors(unknown)],
  outputSchemas: [(unknown) => generate.outputSchemas({ model: async () => "", ...unknown })],
  randomSampler: [
    (unknown) => generate.randomSampler(enriched, { k: 1, ...unknown }),
    (unknown) => generate.randomSampler(enriched, { k: 1 }).sample(unknown),
  ],
  readTemplates: NONE,
  virtualClock: NONE,
  // haft/mcp-server
  listenMcp: [(unknown) => server.listenMcp(runtime, { port: 0, ...unknown })],
  mcpApprover: "takes the request of an approval",
  mcpClientOf: "takes the context of a call",
  mcpPeerOf: "takes an engine",
  mcpHandler: [(unknown) => server.mcpHandler(runtime, unknown), (unknown) => server.mcpHandler(runtime, { tools: unknown })],
  serveMcpStdio: [(unknown) => server.serveMcpStdio(runtime, unknown)],
  // haft/server
  createWorker: [(unknown) => httpServer.createWorker(runtime, unknown)],
  createServer: [
    (unknown) => httpServer.createServer(runtime, { auth: httpServer.staticToken({ token: "0123456789abcdef" }), ...unknown }),
    (unknown) => httpServer.createServer(runtime, { auth: httpServer.staticToken({ token: "0123456789abcdef" }), limits: unknown }),
    (unknown) => httpServer.createServer(runtime, { auth: httpServer.staticToken({ token: "0123456789abcdef" }), mcp: unknown }),
    (unknown) => httpServer.createServer(runtime, { auth: httpServer.staticToken({ token: "0123456789abcdef" }), process: unknown }),
  ],
  staticToken: "takes a token",
  // haft/client
  ApiError: "made by a client alone",
  createClient: "runs in browsers, without the errors of the runtime",
  // haft/wire
  PartialJson: NONE,
  anthropicMessages: FORMAT,
  bedrockConverse: FORMAT,
  chatVariant: NONE,
  cohere: FORMAT,
  delimitedFormat: [(unknown) => wire.delimitedFormat("f", { start: "[", end: "]", slash: "opens", arguments: "lines", ...unknown })],
  fitSchema: NONE,
  frameReader: NONE,
  gemini: [(unknown) => wire.gemini(unknown)],
  geminiInteractions: FORMAT,
  mendJsonText: NONE,
  mistral: FORMAT,
  ollama: FORMAT,
  openAiChat: [(unknown) => wire.openAiChat({ ...wire.PLAIN_CHAT, ...unknown })],
  openAiResponses: FORMAT,
  providerName: NONE,
  readPartialJson: NONE,
  textFormat: NONE,
  // haft/model
  UsageMeter: [
    (unknown) => new models.UsageMeter(unknown),
    (unknown) => new models.UsageMeter({ prices: { m: { inputPerMillion: 1, outputPerMillion: 1, ...unknown } } }),
  ],
  collectReply: NONE,
  costOf: [(unknown) => models.costOf({ inputTokens: 1, outputTokens: 1 }, { inputPerMillion: 1, outputPerMillion: 1, ...unknown })],
  endedWell: NONE,
  httpModel: [(unknown) => models.httpModel({ ...http, ...unknown }), (unknown) => models.httpModel({ ...http, retry: unknown })],
  meteredModel: NONE,
  modelFrom: [
    (unknown) => models.modelFrom({ provider: "openai", model: "m", apiKey: "k", retry: unknown }),
    (unknown) => models.modelFrom("ollama/m", unknown),
    ...models.PROVIDER_NAMES.map(
      (provider): Try =>
        (unknown) =>
          models.modelFrom({ provider, model: "m", apiKey: "k", baseUrl: "https://models.example", ...unknown }),
    ),
  ],
  textToolsModel: [(unknown) => models.textToolsModel(model, { format: "hermes", ...unknown })],
  // haft/adapters
  fromAiSdkTools: NONE,
  fromLangChainTools: NONE,
  fromMastraTools: NONE,
  fromOpenAiAgentsTools: NONE,
  toAiSdkTools: [
    (unknown) => adapters.toAiSdkTools(runtime, unknown),
    (unknown) => adapters.toAiSdkTools(runtime, { tools: {}, ...unknown }),
  ],
  toLangChainTools: [(unknown) => adapters.toLangChainTools(runtime, made, unknown)],
  agUiHandler: [(unknown) => adapters.agUiHandler(runtime, { session: () => runtime.session(), run: async () => {}, ...unknown })],
  uiChatHandler: [(unknown) => adapters.uiChatHandler(runtime, { session: () => runtime.session(), run: async () => {}, ...unknown })],
  Keys: "takes the ports of a runtime",
  "Keys.list": [(unknown) => new httpServer.Keys(memoryStore().access, { clock: systemPorts.clock }).list(unknown)],
  ServerAccess: "made by openServerAccess()",
  openServerAccess: [(unknown) => httpServer.openServerAccess({ ...unknown }, systemPorts)],
  issuerTokens: [
    (unknown) =>
      httpServer.issuerTokens({ issuer: "https://i.example", audience: "a", ...unknown }, { ...systemPorts, fetch: globalThis.fetch }),
  ],
  securityHeaders: [(unknown) => httpServer.securityHeaders(unknown)],
  telemetry: [(unknown) => telemetry(runtime, unknown)],
  "RuntimeSession.addMessage": [(unknown) => parts.session.addMessage({ role: "user", content: "x" }, unknown)],
  toMastraTools: [(unknown) => adapters.toMastraTools(runtime, made, unknown)],
  toOpenAiAgentsTools: [(unknown) => adapters.toOpenAiAgentsTools(runtime, made, unknown)],
};

async function refusalOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return "it was accepted";
  } catch (thrown: unknown) {
    return thrown;
  }
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly "haft-source": string }>>;
}

/** The names of all functions and classes of all entries, and of the methods of classes whose last parameter is options. */
async function publicFunctions(): Promise<readonly string[]> {
  const root = new URL("../../", import.meta.url);
  const { exports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as Manifest;
  const names = new Set<string>();
  for (const entry of Object.values(exports)) {
    if (typeof entry === "string") continue;
    const module = (await import(pathToFileURL(join(root.pathname, entry["haft-source"])).href)) as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(module)) {
      if (typeof value !== "function") continue;
      names.add(name);
      if (typeof value.prototype === "object") for (const method of methodsWithOptions(value.prototype)) names.add(`${name}.${method}`);
    }
  }
  const round = await held((turn) => Object.getPrototypeOf(turn.round()) as object);
  const turn = await held((one) => Object.getPrototypeOf(one) as object);
  const given = {
    Loop: protoOf(loop),
    RuntimeSession: protoOf(parts.session),
    Round: round,
    SessionTurn: turn,
    McpClient: protoOf(reader),
  };
  for (const [name, prototype] of Object.entries(given)) for (const method of methodsWithOptions(prototype)) names.add(`${name}.${method}`);
  return [...names].toSorted();
}

function protoOf(value: object): object {
  return Object.getPrototypeOf(value) as object;
}

const OPTIONS_PARAMETER = /^(?:async )?\*?\w+\((?:[^()]|\([^()]*\))*\b(?:options|query|decided)\b/u;

function methodsWithOptions(prototype: object): readonly string[] {
  const names: string[] = [];
  for (let of: object | null = prototype; of !== null && of !== Object.prototype; of = Object.getPrototypeOf(of) as object | null)
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(of)))
      if (name !== "constructor" && typeof value === "function" && OPTIONS_PARAMETER.test(String(value).split("{", 1)[0] ?? ""))
        names.push(name);
  return names;
}

test("every public function has a row that says how it treats an unknown option", async () => {
  const functions = await publicFunctions();
  expect(functions.filter((name) => !Object.hasOwn(ROWS, name))).toEqual([]);
  const values = new Set(["external", "pure"]);
  const gone = Object.keys(ROWS).filter((name) => !functions.includes(name) && !values.has(name));
  expect(gone).toEqual([]);
});

describe("an unknown option is refused by name, with the known options listed", () => {
  const tries = Object.entries(ROWS).flatMap(([name, row]) =>
    typeof row === "string" ? [] : row.map((attempt, index) => ({ name: row.length === 1 ? name : `${name} (${index + 1})`, attempt })),
  );

  test.each(tries)("$name", async ({ attempt }) => {
    const error = await refusalOf(() => attempt({ quux: 1 }));
    expect(error).toBeInstanceOf(haft.ToolError);
    const { code, message, hint } = error as haft.ToolError;
    expect(code).toBe("invalid_argument");
    expect(message).toMatch(/ has (?:no option|an unknown field) "quux"\.$/u);
    expect(hint).toMatch(/^(?:Known options:|Fields:|Did you mean) /u);
  });
});
