import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as adapters from "../../src/adapters/adapters.ts";
import * as config from "../../src/config/config.ts";
import * as mcp from "../../src/engine/mcp.ts";
import * as rest from "../../src/engine/rest.ts";
import * as search from "../../src/engine/search.ts";
import * as loopNames from "../../src/public/loop.ts";
import * as portsNames from "../../src/public/ports.ts";
import * as promptNames from "../../src/public/prompt.ts";
import * as recordingNames from "../../src/public/recording.ts";
import * as schemaNames from "../../src/public/schema.ts";
import * as chainNames from "../../src/public/chain.ts";
import * as programNames from "../../src/public/program.ts";
import * as delegateNames from "../../src/public/delegate.ts";
import * as sequenceNames from "../../src/public/sequence.ts";
import * as sessionNames from "../../src/public/session.ts";
import * as simulationNames from "../../src/public/simulation.ts";
import * as storeNames from "../../src/public/store.ts";
import * as toolsNames from "../../src/public/tools.ts";
import * as generate from "../../src/generate/generate.ts";
import * as haft from "../../src/index.ts";
import * as model from "../../src/model/models.ts";
import * as testing from "../../src/testing/index.ts";
import * as postgres from "../../src/store/postgres-store.ts";
import * as sqlite from "../../src/store/sqlite-store.ts";
import * as webhooks from "../../src/server/webhooks.ts";
import * as mcpServer from "../../src/server/mcp.ts";
import * as server from "../../src/server.ts";
import * as client from "../../src/client/client.ts";
import * as files from "../../src/toolsets/files.ts";
import * as findTools from "../../src/toolsets/find-tools.ts";
import * as mcpAccess from "../../src/toolsets/mcp-access.ts";
import * as jobs from "../../src/toolsets/jobs.ts";
import * as shell from "../../src/toolsets/shell.ts";
import * as telemetry from "../../src/telemetry/telemetry.ts";
import * as toolsets from "../../src/public/toolsets.ts";
import * as triggers from "../../src/public/triggers.ts";
import * as info from "../../src/toolsets/info.ts";
import * as wire from "../../src/wire/wire.ts";
import { readTree } from "./source-tree.ts";

/** The public names. A line is added here on purpose, with its line in CHANGELOG.md; removing one breaks a user. */
const HAFT_VALUES = [
  "ERROR_CODES",
  "EmergencyStop",
  "Registry",
  "RemoteJob",
  "Runtime",
  "ToolError",
  "ToolExecutionError",
  "ToolOutput",
  "createAgent",
  "createLoop",
  "createRuntime",
  "defineHook",
  "defineTool",
  "external",
  "outputOf",
  "perSession",
  "pure",
  "readOnly",
  "resultText",
  "stopAfterRounds",
  "stopAtKeyword",
  "toolDefinition",
  "toolFromJson",
  "toolFunction",
  "toolToJson",
];

const HAFT_TYPES = [
  "ApprovalDecision",
  "ApprovalRequest",
  "ApprovalSettings",
  "Approver",
  "Ask",
  "CacheSettings",
  "CallSettings",
  "ContentPart",
  "DefinedTool",
  "Effects",
  "EndedConnection",
  "Engine",
  "EngineContext",
  "EngineRequest",
  "EngineSession",
  "ErrorCode",
  "ErrorInfo",
  "EventListener",
  "ExecuteOptions",
  "Hook",
  "HookCommand",
  "HookContext",
  "HookDecision",
  "JsonObject",
  "JsonSchema",
  "JsonValue",
  "Loop",
  "LoopEvent",
  "LoopLimits",
  "LoopOptions",
  "LoopResult",
  "LoopRunOptions",
  "ModelMessage",
  "Outcome",
  "PermissionRules",
  "Ports",
  "ProgressUpdate",
  "Question",
  "QuestionAnswer",
  "ReconcileContext",
  "Reconciled",
  "ResourceKeys",
  "RuntimeEvent",
  "RuntimeOptions",
  "RuntimeSession",
  "SchemaSource",
  "SessionEvent",
  "SessionMessage",
  "SessionTurn",
  "SimulateOptions",
  "Simulation",
  "Tool",
  "ToolCall",
  "ToolContext",
  "ToolOptions",
  "ToolResult",
  "ToolSource",
  "ToolState",
  "Toolset",
  "UndoContext",
];

const TESTING_VALUES = [
  "FAULT_TYPES",
  "FakeClock",
  "MemoryLog",
  "accessStoreContract",
  "approvalStoreContract",
  "approvalsContract",
  "artifactStoreContract",
  "countingIds",
  "engineContract",
  "fakePorts",
  "jobStoreContract",
  "locksContract",
  "modelContract",
  "recordedAnswer",
  "recordedToolsets",
  "scriptedModel",
  "seededRandom",
  "settle",
  "slotsContract",
  "storeContract",
];
const TESTING_TYPES = [
  "ApprovalsCase",
  "ApprovalsMaker",
  "ArtifactStoreCase",
  "EngineCase",
  "EngineSubject",
  "FakePorts",
  "FaultPlan",
  "FaultRule",
  "FaultType",
  "LocksCase",
  "LocksSubject",
  "ModelCase",
  "ModelSubject",
  "RecordedAnswer",
  "RecordedFixture",
  "ReplyScript",
  "ScriptedModel",
  "ScriptedModelOptions",
  "ScriptedReply",
  "SlotsCase",
  "SlotsSubject",
  "StoreCase",
  "StoreSubject",
];

/** The entries by subject: values, then types. */
const SUBJECTS: Readonly<
  Record<string, { readonly module: object; readonly values: readonly string[]; readonly types: readonly string[] }>
> = {
  tools: {
    module: toolsNames,
    values: [
      "TOOL_CATEGORIES",
      "Visibility",
      "qualifiedName",
      "splitName",
      "visibilityOf",
      "visibleTools",
      "withProgramShape",
      "withSuccessShape",
    ],
    types: [
      "Actor",
      "AnsweringTool",
      "CacheScope",
      "CallTools",
      "ErrorCodeInfo",
      "HandlerResult",
      "JsonPrimitive",
      "LockKeys",
      "NameParts",
      "NestedCallOptions",
      "NewTool",
      "OfferedName",
      "PastCall",
      "Reducer",
      "RegisterOptions",
      "RegisteredTool",
      "RegistryOptions",
      "RemoteJobWork",
      "ResolvedEffects",
      "SearchQuery",
      "SourceContext",
      "SuccessShapeTool",
      "Supersedes",
      "ToolAnnotations",
      "ToolCategory",
      "ToolDefinition",
      "ToolErrorOptions",
      "ToolFunction",
      "ToolFunctionOptions",
      "ToolHook",
      "ToolJson",
      "ToolList",
      "ToolOutputOptions",
      "ToolPins",
      "ToolsetParts",
      "ToolsetSettings",
      "ToolsetState",
      "TypeBoxSchema",
      "TypedCall",
      "VisibilityRules",
    ],
  },
  session: {
    module: sessionNames,
    values: ["diffSessions", "storedEvents", "supersedesAt", "supersedesSameInput"],
    types: [
      "AddOptions",
      "ApprovalAnswer",
      "BranchPoint",
      "CacheOptions",
      "CallCounters",
      "CallPhase",
      "CallPlace",
      "CallUnderWay",
      "CallWait",
      "CancelOutcome",
      "CircuitSettings",
      "CommitOptions",
      "DiffSessionsOptions",
      "EndedJob",
      "EventFeed",
      "EventFilter",
      "EventGap",
      "EventsOptions",
      "FeedItem",
      "FollowedEvent",
      "ForkOptions",
      "HistoryEntry",
      "InboxEntry",
      "JobLimits",
      "JobMessage",
      "JobMode",
      "JobOutput",
      "JobState",
      "JobStatus",
      "Jobs",
      "JsonPatch",
      "JsonPatchStep",
      "KeptEvent",
      "ListJobsOptions",
      "LiveEvent",
      "MessagesOptions",
      "NativeMessage",
      "NewTrigger",
      "OkResult",
      "OpenReport",
      "OpenSessions",
      "PauseOptions",
      "PendingResult",
      "ProgressListener",
      "ProgressingCall",
      "ReadJobOptions",
      "ReceiveOptions",
      "ReceivingSession",
      "RefreshReport",
      "Repair",
      "ResultFields",
      "ResultNotes",
      "ResultStatus",
      "ResultWithError",
      "ResumeDecisions",
      "ResumeOptions",
      "RetrySettings",
      "Round",
      "RoundOptions",
      "RoundReply",
      "RulesOfPrincipal",
      "Runtime as CallRuntime",
      "SentBy",
      "Session",
      "SessionDiff",
      "SessionPlace",
      "SessionRule",
      "SessionSnapshot",
      "SessionStart",
      "StateDifference",
      "StoredJobName",
      "StoredTrigger",
      "SubmitOptions",
      "ToolMode",
      "ToolsetChange",
      "ToolsetEvent",
      "ToolsetFailure",
      "Truncation",
      "WaitForJobOptions",
      "WholeResult",
    ],
  },
  loop: {
    module: loopNames,
    values: ["BUDGET_AXES", "STOP_REASONS", "reactLimits", "reasonToStop", "stopAfterMs", "stopByVote"],
    types: [
      "Agent",
      "AgentOptions",
      "AgentStartOptions",
      "AgentState",
      "AgentTriggers",
      "ApprovalDecisions",
      "BudgetAxis",
      "BudgetLevel",
      "BudgetLimit",
      "DeferToolsOptions",
      "EmergencyStopOptions",
      "LoopBudgetLimits",
      "LoopListener",
      "LoopRound",
      "LoopState",
      "PendingCall",
      "ReactOptions",
      "RepeatGuardOptions",
      "RepeatLimits",
      "RoundCall",
      "RoundFacts",
      "RoundLimits",
      "RuntimeLoopOptions",
      "SendOptions",
      "StopCondition",
      "StopReason",
      "TaintOptions",
    ],
  },
  prompt: {
    module: promptNames,
    values: ["buildPrompt", "documentationOf", "modelTools", "patchOptions", "providerTools"],
    types: [
      "Documentation",
      "DocumentationOptions",
      "DocumentationOverrides",
      "ModelToolsOptions",
      "ProgramContribution",
      "PromptContribution",
      "PromptOptions",
      "ProviderToolName",
      "ProviderToolsOptions",
    ],
  },
  delegate: {
    module: delegateNames,
    values: ["delegateTool", "delegatesToolset", "sessionWithin"],
    types: ["DelegateLoopOptions", "DelegateOptions", "DelegatesToolsetOptions", "SessionWithinOptions", "SharedContext"],
  },
  chain: {
    module: chainNames,
    values: ["createChain"],
    types: [
      "Chain",
      "ChainCheck",
      "ChainProblem",
      "ChainResult",
      "ChainSource",
      "ChainStep",
      "ChainToolOptions",
      "ChainTools",
      "RunChainOptions",
    ],
  },
  program: {
    module: programNames,
    values: ["chainOfProgram", "programTools", "programToolset"],
    types: ["EnclosingCall", "KeptProgram", "ProgramMode", "ProgramToolsetOptions"],
  },
  sequence: {
    module: sequenceNames,
    values: ["SEQUENCE_REASONS", "checkSequence", "runSequence"],
    types: [
      "CheckSequenceOptions",
      "RunSequenceOptions",
      "SequenceCall",
      "SequenceCheck",
      "SequenceLayers",
      "SequenceProblem",
      "SequenceReason",
      "SequenceRules",
      "SequenceRun",
      "SequenceTool",
    ],
  },
  recording: {
    module: recordingNames,
    values: ["importRecording", "parseRecording", "readRecording", "replayEngine", "toolsetsOfRecording", "writeRecording"],
    types: [
      "ImportOptions",
      "ImportedRecording",
      "OpenRecording",
      "RecordingHeader",
      "RecordingSource",
      "ReplayOptions",
      "ReplayToolsetOptions",
    ],
  },
  schema: {
    module: schemaNames,
    values: ["ValidationResult", "importSchema", "validateInput", "validateOutput"],
    types: [
      "ImportedSchema",
      "InferAnswer",
      "InferInput",
      "InferReturn",
      "InferSent",
      "JsonLimits",
      "ParsedInput",
      "RepairOptions",
      "SchemaProblem",
      "StandardJsonSchema",
      "ValidationNotes",
      "ValidationSubject",
      "Validator",
    ],
  },
  store: {
    module: storeNames,
    values: [
      "CHANGED_PARTS",
      "StoredApprovals",
      "artifactId",
      "artifactOf",
      "artifactUri",
      "artifactsOf",
      "attachArtifacts",
      "folderArtifacts",
      "memoryStore",
    ],
    types: [
      "AbandonedQuestions",
      "AccessStore",
      "ApprovalEnd",
      "ApprovalKey",
      "ApprovalPreview",
      "ApprovalRecord",
      "ApprovalRule",
      "ApprovalScope",
      "ApprovalStatus",
      "ApprovalStore",
      "ApprovalVerdict",
      "Artifact",
      "ArtifactStore",
      "AuditedCall",
      "AuditedCallPage",
      "AuditedCallPlace",
      "AuditedCallQuery",
      "CacheRecord",
      "CacheStore",
      "CancelRequest",
      "ChangedPart",
      "ChannelEntry",
      "ChannelEntryKey",
      "ChannelStore",
      "CoveredCall",
      "DeliveryKey",
      "EventLog",
      "EventPage",
      "FeedEntry",
      "FeedPage",
      "FolderArtifactsOptions",
      "JobKey",
      "JobStore",
      "KeyMaker",
      "KeyQuery",
      "KeyedRequest",
      "LeaseAnswer",
      "LeaseRequest",
      "LeaseStore",
      "LeaseUpdate",
      "ListApprovalsOptions",
      "ListOptions",
      "ListStoredJobsOptions",
      "ListUnattendedOptions",
      "LogDamage",
      "LogOptions",
      "ManyApprovals",
      "NewApproval",
      "NewApprovalRule",
      "NewChannelEntry",
      "NewKeyedRequest",
      "PreviewedCall",
      "PreviewedChange",
      "PreviewedEffects",
      "ProcessDescription",
      "PruneJobsOptions",
      "ReadChannel",
      "ReadFeedOptions",
      "ReadOptions",
      "RefusalQuery",
      "RefusedRequest",
      "RequestHold",
      "RevokeKeyRequest",
      "SessionQueue",
      "Store",
      "StoreChange",
      "StoreFeed",
      "StoreFollower",
      "StoredApprovalQuery",
      "StoredApprovalsOptions",
      "StoredJob",
      "StoredKey",
      "StoredLease",
      "StoredProcess",
      "StoredSession",
      "TakeEntry",
      "TakeSessionsOptions",
      "TakenSessions",
      "WebhookClaim",
      "WebhookDelivery",
      "WebhookEndpoint",
      "WebhookStore",
    ],
  },
  ports: {
    module: portsNames,
    values: [],
    types: [
      "ApprovalInbox",
      "ApprovalNote",
      "ApprovalQuestion",
      "Approvals",
      "AskRequest",
      "Clock",
      "Expiring",
      "Ids",
      "LockRequest",
      "LockTicket",
      "Locks",
      "Log",
      "LogFields",
      "PendingApproval",
      "Random",
      "ServedRequest",
      "ServedSession",
      "ShownTool",
      "SlotLimit",
      "SlotWaiter",
      "Slots",
      "Timer",
      "TracedRequest",
      "TracedRequestEnd",
      "TracedRequestWork",
      "TracedRun",
      "TracedRunEnd",
      "TracedWork",
      "Tracing",
    ],
  },
  simulation: {
    module: simulationNames,
    values: [
      "ANSWER_SOURCES",
      "ENGINE_SOURCES",
      "FAULT_TYPES",
      "FIDELITIES",
      "NoAnswer",
      "exampleEngine",
      "exampleValue",
      "lmEngine",
      "readStubs",
      "stubEngine",
    ],
    types: [
      "AnswerOptions",
      "AnswerRule",
      "AnswerSource",
      "AnswerSources",
      "EngineSource",
      "Example",
      "ExampleEngineOptions",
      "ExampleOptions",
      "FaultPlan",
      "FaultRule",
      "FaultType",
      "Fidelity",
      "LmEngineOptions",
      "Origin",
      "Stub",
      "StubEngine",
      "StubError",
      "StubOptions",
      "StubReport",
      "Subject as ExampleSubject",
      "UnmatchedCall",
    ],
  },
};

test("haft itself is small: at most 25 values and 60 types", () => {
  expect(HAFT_VALUES.length).toBeLessThanOrEqual(25);
  expect(HAFT_TYPES.length).toBeLessThanOrEqual(60);
});

test.each(Object.entries(SUBJECTS))("haft/%s exports exactly these names", (subject, { module, values, types }) => {
  expect(Object.keys(module).toSorted()).toEqual(values);
  expect(exportedTypes(`src/public/${subject}.ts`)).toEqual(types);
});

test("no name is exported by two entries", () => {
  const places = new Map<string, string>();
  const lists = {
    haft: [...HAFT_VALUES, ...HAFT_TYPES],
    ...Object.fromEntries(Object.entries(SUBJECTS).map(([name, { values, types }]) => [name, [...values, ...types]])),
  };
  for (const [entry, names] of Object.entries(lists))
    for (const name of names) {
      expect(`${name} of ${places.get(name) ?? entry}`).toBe(`${name} of ${entry}`);
      places.set(name, entry);
    }
});

test("haft exports exactly these values", () => {
  expect(Object.keys(haft).toSorted()).toEqual(HAFT_VALUES);
});

test("haft exports exactly these types", () => {
  expect(exportedTypes("src/index.ts")).toEqual(HAFT_TYPES);
});

test("haft/testing exports exactly these values", () => {
  expect(Object.keys(testing).toSorted()).toEqual(TESTING_VALUES);
});

test("haft/testing exports exactly these types", () => {
  expect(exportedTypes("src/testing/index.ts")).toEqual(TESTING_TYPES);
});

/** The values of the other entries. */
const ENTRIES: Readonly<Record<string, { readonly module: object; readonly values: readonly string[] }>> = {
  "haft/mcp": { module: mcp, values: ["UserLogins", "mcpEngine", "mcpPeerOf", "mcpToolset"] },
  "haft/rest": { module: rest, values: ["openApiToolset", "restEngine"] },
  "haft/search": { module: search, values: ["searchEngine"] },
  "haft/webhooks": { module: webhooks, values: ["WEBHOOK_TYPES", "WebhookSender"] },
  "haft/sqlite": { module: sqlite, values: ["sqliteStore"] },
  "haft/postgres": { module: postgres, values: ["postgresStore"] },
  "haft/files": { module: files, values: ["filesToolset"] },
  "haft/mcp-server": { module: mcpServer, values: ["listenMcp", "mcpApprover", "mcpClientOf", "mcpHandler", "serveMcpStdio"] },
  "haft/server": {
    module: server,
    values: ["Keys", "ServerAccess", "createServer", "createWorker", "issuerTokens", "openServerAccess", "securityHeaders", "staticToken"],
  },
  "haft/client": { module: client, values: ["ApiError", "createClient"] },
  "haft/adapters": {
    module: adapters,
    values: [
      "agUiHandler",
      "fromAiSdkTools",
      "fromLangChainTools",
      "fromMastraTools",
      "fromOpenAiAgentsTools",
      "toAiSdkTools",
      "toLangChainTools",
      "toMastraTools",
      "toOpenAiAgentsTools",
      "uiChatHandler",
    ],
  },
  "haft/wire": {
    module: wire,
    values: [
      "CHAT_VARIANTS",
      "PLAIN_CHAT",
      "PartialJson",
      "TEXT_FORMATS",
      "anthropicMessages",
      "bedrockConverse",
      "chatVariant",
      "cohere",
      "delimitedFormat",
      "fitSchema",
      "frameReader",
      "gemini",
      "geminiInteractions",
      "mendJsonText",
      "mistral",
      "ollama",
      "openAiChat",
      "openAiResponses",
      "providerName",
      "readPartialJson",
      "textFormat",
    ],
  },
  "haft/model": {
    module: model,
    values: [
      "FINISH_REASONS",
      "PROVIDERS",
      "PROVIDER_NAMES",
      "REASONING_EFFORTS",
      "UsageMeter",
      "collectReply",
      "costOf",
      "endedWell",
      "httpModel",
      "meteredModel",
      "modelFrom",
      "scriptedModel",
      "textToolsModel",
    ],
  },
  "haft/info": { module: info, values: ["infoToolset", "readOverrides"] },
  "haft/telemetry": { module: telemetry, values: ["telemetry"] },
  "haft/shell": { module: shell, values: ["pythonToolset", "shellToolset"] },
  "haft/find-tools": { module: findTools, values: ["findToolsToolset"] },
  "haft/mcp-access": { module: mcpAccess, values: ["mcpAccessToolset"] },
  "haft/jobs": { module: jobs, values: ["jobsToolset"] },
  "haft/toolsets": {
    module: toolsets,
    values: ["askToolset", "memoryToolset", "notebookToolset", "scratchpadOf", "scratchpadToolset", "skillsToolset", "webToolset"],
  },
  "haft/triggers": { module: triggers, values: ["channelsToolset", "createChannels", "createTriggers", "triggersToolset"] },
  "haft/config": {
    module: config,
    values: [
      "buildRuntimeParts",
      "configuredRuntime",
      "descriptorSource",
      "fileSource",
      "findConfig",
      "loadConfig",
      "lockPath",
      "readLock",
      "toolPins",
    ],
  },
  "haft/generate": {
    module: generate,
    values: [
      "Artifacts",
      "DataflowGraph",
      "Enriched",
      "REDACTED_KINDS",
      "SAMPLE_KINDS",
      "SamplingError",
      "TRAJECTORY_FORMATS",
      "ToolNeighbors",
      "ToolVectors",
      "chainSampler",
      "dataflow",
      "embeddings",
      "enrich",
      "enrichedSource",
      "fanInSampler",
      "fanOutSampler",
      "generateConversations",
      "modelWriter",
      "namedSamplers",
      "neighborSampler",
      "neighbors",
      "outputSchemas",
      "plainWriter",
      "randomSampler",
      "readTemplates",
      "virtualClock",
    ],
  },
};

test.each(Object.keys(ENTRIES))("%s exports exactly these values", (entry) => {
  expect(Object.keys(ENTRIES[entry]?.module ?? {}).toSorted()).toEqual(ENTRIES[entry]?.values);
});

test("package.json has exactly these entries", () => {
  const entries = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { exports: object };
  expect(Object.keys(entries.exports)).toEqual([
    ".",
    "./tools",
    "./session",
    "./loop",
    "./prompt",
    "./delegate",
    "./chain",
    "./program",
    "./sequence",
    "./recording",
    "./schema",
    "./store",
    "./ports",
    "./testing",
    "./mcp",
    "./webhooks",
    "./sqlite",
    "./postgres",
    "./files",
    "./rest",
    "./search",
    "./simulation",
    "./config",
    "./generate",
    "./mcp-server",
    "./server",
    "./client",
    "./wire",
    "./model",
    "./info",
    "./find-tools",
    "./mcp-access",
    "./jobs",
    "./toolsets",
    "./triggers",
    "./adapters",
    "./shell",
    "./telemetry",
    "./haft.schema.json",
    "./package.json",
  ]);
});

test("only the OpenTelemetry API is a peer dependency, so that Haft installs beside either version of the SDK", () => {
  const { peerDependencies } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly peerDependencies: Readonly<Record<string, string>>;
  };
  const ofOpenTelemetry = Object.entries(peerDependencies).filter(([name]) => name.startsWith("@opentelemetry/"));
  expect(ofOpenTelemetry).toEqual([["@opentelemetry/api", "^1.9.0"]]);
});

/** Types leave no trace at run time, so they are read from the text: an index holds nothing but lists of re-exports. */
function exportedTypes(path: string): readonly string[] {
  const text = readTree(path).get(path) ?? "";
  const code = text.replaceAll(/\/\*.*?\*\//gsu, "");
  const rest = code.replaceAll(/^export (?:type )?\{[^}*]*\} from "\.{1,2}\/[^"]+\.ts";$/gmu, "");
  expect(rest.trim(), "an index lists its names by hand").toBe("");
  const lists = [...code.matchAll(/^export (type )?\{([^}]*)\}/gmu)];
  const names = lists.flatMap(([, isType, list = ""]) => list.split(",").flatMap((name) => typeName(name.trim(), isType !== undefined)));
  return names.toSorted();
}

function typeName(name: string, isType: boolean): readonly string[] {
  if (name.startsWith("type ")) return [name.slice("type ".length)];
  return isType && name !== "" ? [name] : [];
}
