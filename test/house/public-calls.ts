/** A call of every public function and of the methods that programs use, with arguments that work: tests replace them one by one. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as adapters from "../../src/adapters/adapters.ts";
import * as config from "../../src/config/config.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import * as mcp from "../../src/engine/mcp.ts";
import * as rest from "../../src/engine/rest.ts";
import * as search from "../../src/engine/search.ts";
import * as generate from "../../src/generate/generate.ts";
import * as haft from "../../src/index.ts";
import * as models from "../../src/model/models.ts";
import * as chain from "../../src/public/chain.ts";
import * as delegate from "../../src/public/delegate.ts";
import * as loops from "../../src/public/loop.ts";
import * as program from "../../src/public/program.ts";
import * as prompt from "../../src/public/prompt.ts";
import * as recordings from "../../src/public/recording.ts";
import * as schema from "../../src/public/schema.ts";
import * as sequences from "../../src/public/sequence.ts";
import * as sessions from "../../src/public/session.ts";
import * as simulation from "../../src/public/simulation.ts";
import * as stores from "../../src/public/store.ts";
import * as tools from "../../src/public/tools.ts";
import * as toolsets from "../../src/public/toolsets.ts";
import * as triggers from "../../src/public/triggers.ts";
import * as server from "../../src/server.ts";
import * as mcpServer from "../../src/server/mcp.ts";
import * as webhooks from "../../src/server/webhooks.ts";
import * as postgres from "../../src/store/postgres-store.ts";
import * as sqlite from "../../src/store/sqlite-store.ts";
import * as telemetry from "../../src/telemetry/telemetry.ts";
import * as testing from "../../src/testing/index.ts";
import * as files from "../../src/toolsets/files.ts";
import * as findTools from "../../src/toolsets/find-tools.ts";
import * as info from "../../src/toolsets/info.ts";
import * as jobs from "../../src/toolsets/jobs.ts";
import * as mcpAccess from "../../src/toolsets/mcp-access.ts";
import * as shell from "../../src/toolsets/shell.ts";
import * as wire from "../../src/wire/wire.ts";

/** What is called, and the arguments that it is given. */
export type PublicCall = readonly [call: (...given: never[]) => unknown, ...good: readonly unknown[]];

/** For the folders and files of these calls. */
export const folder = mkdtempSync(join(tmpdir(), "haft-public-calls-"));
writeFileSync(join(folder, "haft.toml"), "");
const loaded = await config.loadConfig(join(folder, "haft.toml"));

const tool = haft.defineTool({
  name: "t",
  description: "Does nothing.",
  inputSchema: { type: "object", properties: { a: { type: "string" } } },
  execute: () => 1,
});
const runtime = (): haft.Runtime => haft.createRuntime({ tools: [tool] });
const stored = (): haft.Runtime => haft.createRuntime({ store: stores.memoryStore() });
const session = (): haft.RuntimeSession => runtime().session();
const model = (): models.ScriptedModel => testing.scriptedModel([{ text: "hi" }]);
const loop = (): haft.Loop => haft.createLoop({ model: model(), session: session() });
const agent = (): loops.Agent => haft.createAgent({ model: model(), session: session() });
const registered = () => runtime().registry.require("default::t");
const auth = (): unknown => server.staticToken({ token: "0123456789abcdef" });
const keys = (): server.Keys => new server.Keys(stores.memoryStore().access, { clock: systemPorts.clock });
const message = { role: "user", content: "hi" };
const call = { name: "t", input: {} };
const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, paths: {} };
const result = await runtime().execute(call);
const recorded = session();
await recorded.execute(call);
const events = await listOf(recorded.events());
const enriched = await generate.enrich(runtime().registry, [
  generate.dataflow(),
  generate.embeddings({ embed: async (texts) => texts.map(() => [1]) }),
  generate.neighbors(),
]);
const nothing = (): void => {};
const done = async (): Promise<void> => {};
const same = (given: unknown): unknown => given;
const offline = async (): Promise<never> => Promise.reject(new Error("There is no network."));

/** All that is streamed. */
export async function listOf<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Makes an object of a class. */
function made(of: new (...given: never[]) => object): (...given: never[]) => object {
  return (...given) => Reflect.construct(of, given);
}

/** Calls a method of a new object. */
function on(make: () => object, method: string): (...given: never[]) => unknown {
  return (...given) => {
    const of = make();
    return Reflect.apply(Reflect.get(of, method) as () => unknown, of, given);
  };
}

/** Reads all that a function streams. */
function reading(stream: (...given: never[]) => AsyncIterable<unknown>): (...given: never[]) => unknown {
  return async (...given) => listOf(stream(...given));
}

export const PUBLIC_CALLS: Readonly<Record<string, PublicCall>> = {
  "new EmergencyStop": [made(haft.EmergencyStop), {}],
  "EmergencyStop.record": [on(() => new haft.EmergencyStop({}), "record"), result],
  "new Registry": [made(haft.Registry), {}],
  "Registry.register": [on(() => new haft.Registry(), "register"), tool, "ns", {}],
  "Registry.unregister": [on(() => runtime().registry, "unregister"), "t"],
  "Registry.addToolset": [on(() => runtime().registry, "addToolset"), { name: "x", tools: [tool] }, [tool]],
  "Registry.addTools": [on(() => runtime().registry, "addTools"), "default", []],
  "Registry.replace": [on(() => runtime().registry, "replace"), [{ toolset: { name: "x" }, tools: [] }], []],
  "Registry.removeToolset": [on(() => runtime().registry, "removeToolset"), "x"],
  "Registry.sizeOf": [on(() => runtime().registry, "sizeOf"), "x"],
  "Registry.has": [on(() => runtime().registry, "has"), "t"],
  "Registry.get": [on(() => runtime().registry, "get"), "t"],
  "Registry.require": [on(() => runtime().registry, "require"), "t"],
  "Registry.overloads": [on(() => runtime().registry, "overloads"), "t"],
  "Registry.getByFingerprint": [on(() => runtime().registry, "getByFingerprint"), "t", "x"],
  "Registry.list": [on(() => runtime().registry, "list"), "default"],
  "Registry.listDenied": [on(() => runtime().registry, "listDenied"), "default"],
  "Registry.names": [on(() => runtime().registry, "names"), "default"],
  "Registry.search": [on(() => runtime().registry, "search"), { text: "t" }],
  "Registry.resolve": [on(() => runtime().registry, "resolve"), "t"],
  "Registry.match": [on(() => runtime().registry, "match"), call, ["default"]],
  "Registry.setEnabled": [on(() => runtime().registry, "setEnabled"), "default::t", true],
  "Registry.setToolsetState": [on(() => runtime().registry, "setToolsetState"), "default", "open"],
  createRuntime: [haft.createRuntime, {}],
  "Runtime.openToolset": [on(runtime, "openToolset"), "default"],
  "Runtime.closeToolset": [on(runtime, "closeToolset"), "default"],
  "Runtime.subscribe": [on(runtime, "subscribe"), nothing],
  "Runtime.trace": [on(runtime, "trace"), undefined],
  "Runtime.events": [on(runtime, "events"), {}],
  "Runtime.execute": [on(runtime, "execute"), call, {}],
  "Runtime.simulate": [on(runtime, "simulate"), call, {}],
  "Runtime.session": [on(runtime, "session"), "s", {}],
  "Runtime.resume": [on(stored, "resume"), "s", {}],
  "Runtime.cancel": [on(runtime, "cancel"), "id", "why"],
  "Runtime.loop": [on(runtime, "loop"), { model: model() }],
  "Sessions.get": [on(() => runtime().sessions, "get"), "s"],
  "Sessions.forget": [on(() => runtime().sessions, "forget"), "s"],
  "Jobs.list": [on(() => runtime().jobs, "list"), {}],
  "Jobs.get": [on(() => runtime().jobs, "get"), "j"],
  "Jobs.wait": [on(() => runtime().jobs, "wait"), "j", {}],
  "Jobs.read": [on(() => runtime().jobs, "read"), "j", {}],
  "Jobs.send": [on(() => runtime().jobs, "send"), "j", {}, {}],
  "Jobs.cancel": [on(() => runtime().jobs, "cancel"), "j", "why"],
  "Jobs.listStored": [on(() => stored().jobs, "listStored"), {}],
  "Jobs.cancelStored": [on(() => stored().jobs, "cancelStored"), { sessionId: "s", id: "j" }, "why"],
  "Jobs.promote": [on(() => runtime().jobs, "promote"), "c"],
  "Approvals.list": [on(() => runtime().approvals, "list"), {}],
  "Approvals.get": [on(() => runtime().approvals, "get"), "a"],
  "Approvals.answer": [on(() => runtime().approvals, "answer"), "a", { approved: true }],
  "Approvals.answerMany": [on(() => runtime().approvals, "answerMany"), ["a"], { approved: true }],
  "Session.execute": [on(session, "execute"), call, {}],
  "Session.submit": [on(session, "submit"), call, {}],
  "Session.turn": [on(session, "turn"), async () => 1, {}],
  "Session.simulate": [on(session, "simulate"), call, {}],
  "Session.fork": [on(session, "fork"), {}],
  "Session.forkAt": [on(session, "forkAt"), 0, {}],
  "Session.onJob": [on(session, "onJob"), nothing],
  "Session.messages": [on(session, "messages"), {}],
  "Session.addMessage": [on(session, "addMessage"), message, {}],
  "Session.receive": [on(session, "receive"), message, {}],
  "Session.wholeResult": [on(session, "wholeResult"), "h"],
  "Session.setTriggerPaused": [on(session, "setTriggerPaused"), "t", true, {}],
  createLoop: [haft.createLoop, { model: model(), session: session() }],
  "Loop.run": [on(loop, "run"), "hi", {}],
  "Loop.stream": [on(loop, "stream"), "hi", {}],
  "Loop.resume": [on(loop, "resume"), { decisions: {} }, {}],
  createAgent: [haft.createAgent, { model: model(), session: session() }],
  "Agent.send": [on(agent, "send"), "hi", {}],
  "Agent.cancel": [on(agent, "cancel"), "why"],
  "Agent.start": [on(agent, "start"), {}],
  "Agent.decide": [on(agent, "decide"), { decisions: {} }],
  "new ToolOutput": [made(haft.ToolOutput), { output: 1 }],
  defineHook: [haft.defineHook, { tool, name: "h", beforeCall: () => undefined }],
  defineTool: [haft.defineTool, { name: "t", description: "d", inputSchema: {}, effects: haft.pure, execute: () => 1 }],
  toolFunction: [haft.toolFunction, { description: "d", inputSchema: {} }, function act() {}],
  outputOf: [haft.outputOf, tool, result],
  perSession: [haft.perSession, () => ({})],
  readOnly: [haft.readOnly, "a"],
  resultText: [haft.resultText, result, same],
  stopAfterRounds: [haft.stopAfterRounds, 1],
  stopAtKeyword: [haft.stopAtKeyword, "x"],
  toolDefinition: [haft.toolDefinition, registered()],
  toolFromJson: [haft.toolFromJson, haft.toolToJson(registered()), "default"],
  toolToJson: [haft.toolToJson, registered()],
  qualifiedName: [tools.qualifiedName, "a", "b"],
  splitName: [tools.splitName, "a.b"],
  visibilityOf: [tools.visibilityOf, {}],
  visibleTools: [tools.visibleTools, runtime().registry, {}],
  withProgramShape: [tools.withProgramShape, tool],
  withSuccessShape: [tools.withSuccessShape, tool],
  diffSessions: [sessions.diffSessions, session(), session(), {}],
  storedEvents: [reading(sessions.storedEvents), stores.memoryStore(), "s"],
  supersedesAt: [sessions.supersedesAt, () => "x", () => true],
  reactLimits: [loops.reactLimits, {}],
  reasonToStop: [loops.reasonToStop, { calls: [], finish: "stop", rounds: 1 }, {}],
  stopAfterMs: [loops.stopAfterMs, 1],
  stopByVote: [loops.stopByVote, [haft.stopAfterRounds(1)], {}],
  buildPrompt: [prompt.buildPrompt, runtime().registry, {}],
  documentationOf: [prompt.documentationOf, runtime().registry, "t", {}],
  modelTools: [prompt.modelTools, runtime().registry, {}],
  patchOptions: [prompt.patchOptions, "t", {}, {}],
  providerTools: [prompt.providerTools, [haft.toolDefinition(registered())], wire.openAiChat(), {}],
  sessionWithin: [delegate.sessionWithin, {}, {}],
  delegateTool: [delegate.delegateTool, { name: "d", description: "d", model: model() }],
  delegatesToolset: [delegate.delegatesToolset, { delegates: [] }],
  createChain: [chain.createChain, [{ tool: "t" }]],
  "Chain.addStep": [on(() => chain.createChain(), "addStep"), { tool: "t" }],
  "Chain.validate": [on(() => chain.createChain([{ tool: "t" }]), "validate"), runtime().registry, {}],
  "Chain.run": [on(() => chain.createChain([{ tool: "t" }]), "run"), session(), {}, {}],
  "Chain.toTool": [on(() => chain.createChain([{ tool: "t" }]), "toTool"), { name: "c", description: "d" }],
  chainOfProgram: [program.chainOfProgram, session(), "c"],
  programTools: [program.programTools, runtime().registry, {}],
  programToolset: [program.programToolset, {}],
  checkSequence: [sequences.checkSequence, [call], { tools: runtime() }],
  runSequence: [sequences.runSequence, session(), [call], {}],
  importRecording: [recordings.importRecording, stores.memoryStore(), events, {}],
  parseRecording: [recordings.parseRecording, "x"],
  readRecording: [recordings.readRecording, "x"],
  replayEngine: [recordings.replayEngine, events, {}],
  toolsetsOfRecording: [recordings.toolsetsOfRecording, events, {}],
  writeRecording: [reading(recordings.writeRecording), events, { sessionId: "s", exportedAt: 1 }],
  importSchema: [schema.importSchema, {}],
  validateInput: [schema.validateInput, {}, {}],
  validateOutput: [schema.validateOutput, {}, {}],
  "new StoredApprovals": [made(stores.StoredApprovals), { store: stores.memoryStore().approvals }],
  artifactId: [stores.artifactId, "artifact:x"],
  artifactOf: [stores.artifactOf, "image/png", new Uint8Array(1)],
  artifactUri: [stores.artifactUri, "sha256-x"],
  artifactsOf: [stores.artifactsOf, session()],
  attachArtifacts: [stores.attachArtifacts, [message], { get: async () => undefined, put: async () => "" }],
  folderArtifacts: [stores.folderArtifacts, { path: folder }],
  memoryStore: [stores.memoryStore],
  sqliteStore: [sqlite.sqliteStore, { path: ":memory:" }],
  postgresStore: [postgres.postgresStore, { url: "postgres://localhost:1/haft" }],
  "new WebhookSender": [made(webhooks.WebhookSender), { store: stores.memoryStore(), webhooks: [] }],
  filesToolset: [files.filesToolset, { root: folder }],
  findToolsToolset: [findTools.findToolsToolset, {}],
  mcpAccessToolset: [mcpAccess.mcpAccessToolset, {}],
  jobsToolset: [jobs.jobsToolset, {}],
  shellToolset: [shell.shellToolset, { root: folder }],
  pythonToolset: [shell.pythonToolset, { root: folder }],
  askToolset: [toolsets.askToolset, {}],
  memoryToolset: [toolsets.memoryToolset, {}],
  notebookToolset: [toolsets.notebookToolset, { root: folder }],
  scratchpadOf: [toolsets.scratchpadOf, { session: session() }],
  scratchpadToolset: [toolsets.scratchpadToolset, {}],
  skillsToolset: [toolsets.skillsToolset, { folder }],
  webToolset: [toolsets.webToolset, {}],
  createChannels: [triggers.createChannels, {}],
  createTriggers: [triggers.createTriggers, {}],
  "Channels.open": [on(triggers.createChannels, "open"), "c", {}],
  "Channels.find": [on(triggers.createChannels, "find"), "c", "s"],
  "Channels.get": [on(triggers.createChannels, "get"), "c", "s"],
  "Channels.list": [on(triggers.createChannels, "list"), "s"],
  "Channels.remove": [on(triggers.createChannels, "remove"), "c"],
  "Channel.send": [on(() => triggers.createChannels().open("c"), "send"), "hi", { sender: "a" }],
  "Channel.subscribe": [on(() => triggers.createChannels().open("c"), "subscribe"), "a", {}],
  "Channel.observe": [on(() => triggers.createChannels().open("c"), "observe"), nothing],
  "Triggers.of": [on(triggers.createTriggers, "of"), session()],
  "SessionTriggers.add": [on(() => triggers.createTriggers().of(session()), "add"), { type: "timer", interval: 1, prompt: "x" }],
  channelsToolset: [triggers.channelsToolset, { channels: triggers.createChannels() }],
  triggersToolset: [triggers.triggersToolset, { triggers: triggers.createTriggers() }],
  infoToolset: [info.infoToolset, {}],
  readOverrides: [info.readOverrides, folder],
  "new UserLogins": [made(mcp.UserLogins), { origin: "https://tools.example" }],
  mcpEngine: [mcp.mcpEngine, { command: "true" }],
  mcpToolset: [mcp.mcpToolset, "s", { command: "true" }],
  mcpPeerOf: [mcp.mcpPeerOf, mcp.mcpEngine({ command: "true" })],
  openApiToolset: [rest.openApiToolset, "s", { document }],
  restEngine: [rest.restEngine, { document }],
  searchEngine: [search.searchEngine, { documents: [{ id: "a", text: "x" }] }],
  exampleEngine: [simulation.exampleEngine, {}],
  exampleValue: [simulation.exampleValue, {}, { random: testing.seededRandom(1) }],
  lmEngine: [simulation.lmEngine, { model: model() }],
  readStubs: [simulation.readStubs, []],
  stubEngine: [simulation.stubEngine, [], {}],
  buildRuntimeParts: [config.buildRuntimeParts, loaded, {}],
  configuredRuntime: [config.configuredRuntime, join(folder, "none.toml"), {}],
  descriptorSource: [config.descriptorSource, { name: "s", path: folder }],
  fileSource: [config.fileSource, { path: "t.yaml" }],
  findConfig: [config.findConfig, folder],
  loadConfig: [config.loadConfig, join(folder, "none.toml"), {}],
  lockPath: [config.lockPath, "haft.toml"],
  readLock: [config.readLock, join(folder, "x.lock")],
  toolPins: [config.toolPins, { toolsets: new Map() }],
  chainSampler: [generate.chainSampler, enriched, { k: 1 }],
  dataflow: [generate.dataflow, {}],
  embeddings: [generate.embeddings, { embed: async () => [] }],
  enrich: [generate.enrich, runtime().registry, [], {}],
  enrichedSource: [generate.enrichedSource, { name: "s", load: async () => [] }, [], {}],
  fanInSampler: [generate.fanInSampler, enriched, { k: 1 }],
  fanOutSampler: [generate.fanOutSampler, enriched, { k: 1 }],
  generateConversations: [
    generate.generateConversations,
    { runtime: runtime(), plan: { kind: "sampled", count: 0 }, out: { write: done } },
  ],
  modelWriter: [generate.modelWriter, { model: model() }],
  namedSamplers: [generate.namedSamplers, {}],
  neighborSampler: [generate.neighborSampler, enriched, { k: 1 }],
  neighbors: [generate.neighbors, {}],
  outputSchemas: [generate.outputSchemas, { model: async () => "" }],
  randomSampler: [generate.randomSampler, enriched, { k: 1 }],
  readTemplates: [generate.readTemplates, "", "f.yaml"],
  listenMcp: [mcpServer.listenMcp, runtime(), { port: 0 }],
  mcpClientOf: [mcpServer.mcpClientOf, {}],
  mcpHandler: [mcpServer.mcpHandler, runtime(), {}],
  createWorker: [server.createWorker, runtime(), {}],
  createServer: [server.createServer, runtime(), { auth: auth() }],
  staticToken: [server.staticToken, { token: "0123456789abcdef" }],
  securityHeaders: [server.securityHeaders, {}],
  issuerTokens: [server.issuerTokens, { issuer: "https://i.example", audience: "a" }, { ...systemPorts, fetch: offline }],
  openServerAccess: [server.openServerAccess, {}, systemPorts],
  "Keys.list": [on(keys, "list"), {}],
  "Keys.add": [on(keys, "add"), { name: "k", scopes: [] }],
  "Keys.revoke": [on(keys, "revoke"), "k"],
  chatVariant: [wire.chatVariant, "openai"],
  delimitedFormat: [wire.delimitedFormat, "f", { start: "[", end: "]", slash: "opens", arguments: "lines" }],
  fitSchema: [wire.fitSchema, { type: "object" }, "openai-strict"],
  frameReader: [wire.frameReader, "sse"],
  gemini: [wire.gemini, {}],
  mendJsonText: [wire.mendJsonText, "{", 10],
  openAiChat: [wire.openAiChat, "openai"],
  providerName: [wire.providerName, "a.b", "f"],
  readPartialJson: [wire.readPartialJson, "{"],
  textFormat: [wire.textFormat, "hermes"],
  "new UsageMeter": [made(models.UsageMeter), {}],
  collectReply: [models.collectReply, (async function* () {})()],
  costOf: [models.costOf, { inputTokens: 1, outputTokens: 1 }, { inputPerMillion: 1, outputPerMillion: 1 }],
  endedWell: [models.endedWell, "stop"],
  httpModel: [models.httpModel, { format: wire.openAiChat(), model: "m", baseUrl: "https://models.example" }],
  meteredModel: [models.meteredModel, model(), new models.UsageMeter()],
  modelFrom: [models.modelFrom, "ollama/m", {}],
  scriptedModel: [models.scriptedModel, [{ text: "x" }], {}],
  textToolsModel: [models.textToolsModel, model(), { format: "hermes" }],
  toAiSdkTools: [adapters.toAiSdkTools, runtime(), {}],
  toLangChainTools: [adapters.toLangChainTools, runtime(), same, {}],
  toMastraTools: [adapters.toMastraTools, runtime(), same, {}],
  toOpenAiAgentsTools: [adapters.toOpenAiAgentsTools, runtime(), same, {}],
  fromAiSdkTools: [adapters.fromAiSdkTools, { t: { inputSchema: { jsonSchema: {} }, execute: () => 1 } }],
  fromLangChainTools: [adapters.fromLangChainTools, []],
  fromMastraTools: [adapters.fromMastraTools, []],
  fromOpenAiAgentsTools: [adapters.fromOpenAiAgentsTools, [], () => ({})],
  agUiHandler: [adapters.agUiHandler, runtime(), { session: () => session(), run: done }],
  uiChatHandler: [adapters.uiChatHandler, runtime(), { session: () => session(), run: done }],
  telemetry: [telemetry.telemetry, runtime(), {}],
  "new FakeClock": [made(testing.FakeClock), {}],
  fakePorts: [testing.fakePorts, {}],
  recordedToolsets: [testing.recordedToolsets, events, {}],
  recordedAnswer: [testing.recordedAnswer, result],
  seededRandom: [testing.seededRandom, 1],
};
