/** The options of createRuntime, and their checks. */
import { quoteValue } from "../core/base/wording.ts";
import { checkJobLimits, type JobLimits } from "../call/jobs/job-table.ts";
import { CALL_SETTINGS, checkMs, checkCallSettings } from "../core/call-settings.ts";
import { checkNumber, type Bounds } from "../core/base/number-bounds.ts";
import { ToolError } from "../core/error.ts";
import { ONE_COPY_HINT } from "../core/system/duplicate-package.ts";
import { HOOK_FIELDS, type Hook } from "../core/hook.ts";
import { checkRetrySettings, type RetrySettings } from "../policy/attempts/retry.ts";
import { checkArgument } from "../core/check-argument.ts";
import { checkKnownKeys, checkOptionTypes, type OptionNames } from "../core/known-keys.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { Approvals } from "../core/approvals/approvals.ts";
import type { Ask } from "../core/approvals/ask.ts";
import type { EventListener } from "../core/event.ts";
import type { Engine } from "../core/engine.ts";
import type { ToolExecutionError } from "../call/tool-execution-error.ts";
import type { FaultPlan } from "../core/answers/fault.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import type { Locks } from "../core/resources/locks.ts";
import type { Ports } from "../core/ports.ts";
import type { Slots } from "../core/resources/slots.ts";
import type { ToolSource } from "../core/source.ts";
import type { Store } from "../core/store/store.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import type { ToolPins } from "../core/tool-pins.ts";
import type { Toolset } from "../core/toolset.ts";
import type { ApprovalSettings } from "../policy/approval/approval-gate.ts";
import { resolveCircuitSettings, type CircuitSettings } from "../policy/attempts/circuit.ts";
import type { PermissionRules } from "../policy/permission.ts";
import type { CacheOptions } from "../policy/cache/result-cache.ts";
import { isPlainObject } from "../registry/check-tool-fields.ts";
import { showValue } from "../schema/schema-problem.ts";
import { Registry } from "../registry/registry.ts";
import type { AnswerOptions } from "../call/fallback-chains.ts";

export interface RuntimeOptions extends CallSettings {
  /** Tools of the namespace `default`. */
  readonly tools?: readonly Tool[];
  /**
   * A registry that has tools and toolsets already, with its own settings and permission rules. `open` opens its toolsets too. It serves one runtime.
   * @default a new one
   */
  readonly registry?: Registry;
  readonly toolsets?: readonly Toolset[];
  /** Sources of further toolsets, read by `open` and at each `refresh`. */
  readonly sources?: readonly ToolSource[];
  /** The approved definitions of third-party tools; a tool that differs from its pin is blocked. @default none */
  readonly pins?: ToolPins;
  /** Maximum number of handlers that run at a time. Integer ≥ 1. @default no limit */
  readonly maxConcurrent?: number;
  readonly retry?: RetrySettings;
  /** When calls of a failing tool are refused for a while; `false` = never. */
  readonly circuit?: CircuitSettings | false;
  /** Tools that these rules deny are not shown to any model or client, and never run. @default none are denied */
  readonly permission?: PermissionRules;
  readonly approval?: ApprovalSettings;
  /** Decides and asks instead of `approval`, for example so that another process may answer. Not closed with the runtime. */
  readonly approvals?: Approvals;
  /** Separates calls that touch the same resources; runtimes that share it wait for each other. @default the runtime's own */
  readonly locks?: Locks;
  /** Counts the calls of tools and toolsets with `maxConcurrent`; runtimes that share it share those limits. @default the runtime's own */
  readonly slots?: Slots;
  /** The places of this process: toolsets with another `place` do not run here. @default none */
  readonly places?: readonly string[];
  readonly hooks?: readonly Hook[];
  /** How much memory the results of cached tools may take. */
  readonly cache?: CacheOptions;
  /** The value of `context.data` for handlers, for an `execute` without its own. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The name of the agent that uses these tools: `context.agentName` of handlers. */
  readonly agentName?: string;
  /** The folder against which relative paths of handlers are resolved: see `context.resolvePath`. @default the working directory of the process */
  readonly workingFolder?: string;
  /** Answers the questions of handlers to a person, for an `execute` without its own. @default they are answered `cancel` */
  readonly ask?: Ask;
  readonly onEvent?: EventListener;
  /**
   * Called when a batch fails with `onError: "throw"`, before `execute` rejects with the same error; its `cause` is the error that the handler threw.
   * If it throws, this is logged and has no other effect. @default a line in the log
   */
  readonly onAlert?: (error: ToolExecutionError) => void;
  /** If one toolset fails to open, all fail. @default false */
  readonly strict?: boolean;
  /** How deep and large an input may be. */
  readonly inputLimits?: JsonLimits;
  /** Keeps sessions beyond the process; closed with the runtime. @default none: a session is lost when it is closed */
  readonly store?: Store;
  /**
   * Where images, audio and other files in the answers of tools and models are kept, such as `store.artifacts` or `folderArtifacts({ path })`. The
   * log, the output and the content then have their addresses, `artifact:` and a SHA-256, and a loop gives its model the images themselves. `false`:
   * files are not kept, but replaced by their types and sizes. @default they are part of the log
   */
  readonly artifacts?: ArtifactStore | false;
  /** `async`: neither calls nor results wait for the store, and a crash may lose the latest events. @default "sync" */
  readonly durability?: "sync" | "async";
  /** Minimum number of events of a stored session that stay in memory. Integer ≥ 1. @default 10_000 */
  readonly keepEvents?: number;
  /** Answers calls that a simulation may not run. @default none: such calls end with `not_simulatable` */
  readonly standIn?: Engine;
  /** The sources that answer in place of tools, in every session. @default none: all tools are live */
  readonly answers?: AnswerOptions;
  /** How many background jobs may run and wait, and what is kept of ended ones. */
  readonly jobs?: JobLimits;
  /** Failures that are injected into calls, whatever source answers, including simulations; calls of unknown tools meet none. @default none */
  readonly faults?: FaultPlan;
  /** How long an abandoned handler keeps its locks and slots, in milliseconds. @default 10_000 */
  readonly orphanHoldMs?: number;
  /** Clock, randomness, ids and log, for tests. */
  readonly ports?: Partial<Ports>;
}

const OPTIONS: OptionNames<RuntimeOptions> = {
  ...CALL_SETTINGS,
  tools: "array",
  registry: true,
  toolsets: "array",
  sources: "array",
  pins: "object",
  maxConcurrent: true,
  retry: true,
  circuit: true,
  permission: true,
  approval: true,
  approvals: true,
  locks: true,
  slots: true,
  places: "array",
  hooks: "array",
  cache: true,
  data: "object",
  agentName: true,
  workingFolder: true,
  ask: "function",
  onEvent: "function",
  onAlert: "function",
  strict: "boolean",
  inputLimits: true,
  store: true,
  artifacts: true,
  durability: true,
  keepEvents: true,
  standIn: true,
  answers: true,
  faults: true,
  jobs: "object",
  orphanHoldMs: true,
  ports: "object",
};

/** @throws ToolError `invalid_argument` that names the option, its value and what would work */
export function checkRuntimeOptions(options: RuntimeOptions): void {
  checkKnownKeys(options, OPTIONS, "createRuntime()");
  checkNestedOptions(options);
  checkCallSettings(options, "the runtime");
  checkMs(options.orphanHoldMs, "orphanHoldMs", "the runtime");
  checkRetrySettings(options.retry ?? {});
  checkJobLimits(options.jobs ?? {});
  const { hooks = [] } = options;
  if (!Array.isArray(hooks) || !hooks.every((hook) => typeof hook === "object" && hook !== null))
    throw new ToolError(
      "invalid_argument",
      "The hooks of the runtime must be an array of objects with a name, and beforeCall or afterCall.",
    );
  for (const hook of hooks) checkHook(hook);
  const { keepEvents = 1, durability = "sync" } = options;
  if (!Number.isSafeInteger(keepEvents) || keepEvents < 1)
    throw new ToolError("invalid_argument", `keepEvents of the runtime is ${quoteValue(keepEvents)}; it takes an integer of at least 1.`);
  for (const name of ["agentName", "workingFolder"] as const) checkText(options[name], name);
  if (options.registry !== undefined) checkRegistry(options);
  if (options.approvals !== undefined && options.approval !== undefined)
    throw new ToolError("invalid_argument", 'createRuntime() takes "approval" or "approvals", not both: "approvals" has rules of its own.');
  if (durability !== "sync" && durability !== "async")
    throw new ToolError("invalid_argument", `durability of the runtime is ${quoteValue(durability)}; it takes "sync" or "async".`);
}

const RETRY: OptionNames<RetrySettings> = { delayMs: true, factor: true, maxDelayMs: true, jitter: "boolean" };
const CIRCUIT: OptionNames<CircuitSettings> = { failures: true, windowMs: true, openMs: true, probes: true, minimumRate: true };
const APPROVAL: OptionNames<ApprovalSettings> = { approve: true, always: true, never: true, timeoutMs: true };
const LIMIT: Bounds = { min: 0, max: Infinity, integer: false };
const LIMITS: Readonly<Record<keyof JsonLimits, Bounds>> = { maxDepth: LIMIT, maxNodes: LIMIT, maxChars: LIMIT, maxWideKeys: LIMIT };

/** Refuses unknown names and wrong values one level down; rules, answers, faults and jobs are checked where they are used. */
function checkNestedOptions(options: RuntimeOptions): void {
  const { retry, circuit, approval, cache, inputLimits, places = [], toolsets = [], sources = [] } = options;
  if (retry !== undefined) checkKnownKeys(retry, RETRY, "createRuntime({ retry })");
  if (circuit !== undefined && circuit !== false) {
    checkKnownKeys(circuit, CIRCUIT, "createRuntime({ circuit })");
    resolveCircuitSettings(circuit);
  }
  if (approval !== undefined) {
    checkArgument(
      typeof approval !== "function",
      "createRuntime({ approval })",
      "an object",
      approval,
      "For an approver, write approval: { approve }.",
    );
    checkKnownKeys(approval, APPROVAL, "createRuntime({ approval })");
    checkApprove(approval.approve);
  }
  if (cache !== undefined) checkKnownKeys(cache, { maxBytes: true }, "createRuntime({ cache })");
  if (inputLimits !== undefined) {
    checkKnownKeys(inputLimits, LIMITS, "createRuntime({ inputLimits })");
    for (const [name, bounds] of Object.entries(LIMITS)) checkNumber(Reflect.get(inputLimits, name), `${name} of inputLimits`, bounds);
  }
  checkItems({ places }, "string");
  checkItems({ toolsets, sources }, "object");
  for (const name of SEAMS) checkMethods(options[name] === false ? undefined : options[name], name, REQUIRED_METHODS[name]);
  for (const name of PORTS) checkMethods(options.ports?.[name], `ports.${name}`, PORT_METHODS[name]);
  if (options.approvals !== undefined && typeof Reflect.get(options.approvals, "mayAsk") !== "boolean")
    throw new ToolError("invalid_argument", 'The option "approvals" of createRuntime() has no boolean "mayAsk".', {
      hint: `Give it ${REQUIRED_METHODS.approvals.example}`,
    });
}

function checkApprove(approve: unknown): void {
  if (approve === undefined || approve === "inbox" || typeof approve === "function") return;
  throw new ToolError(
    "invalid_argument",
    `The option "approve" of createRuntime({ approval }) must be a function or "inbox", not ${showValue(approve)}.`,
  );
}

function checkItems(lists: Readonly<Record<string, readonly unknown[]>>, type: "string" | "object"): void {
  for (const [name, list] of Object.entries(lists))
    list.forEach((item, index) =>
      checkOptionTypes({ [`${name}[${index}]`]: item ?? null }, { [`${name}[${index}]`]: type }, "createRuntime()"),
    );
}

interface RequiredMethods {
  /** The methods that an implementation needs. */
  readonly methods: readonly string[];
  /** A value that would work, for the hint. */
  readonly example: string;
}

const PORT_METHODS: Readonly<Record<keyof Ports, RequiredMethods>> = {
  clock: { methods: ["now", "wallTime", "timer"], example: "a Clock, such as fakePorts().clock of haft/testing." },
  random: { methods: ["next"], example: "a Random, such as fakePorts().random of haft/testing." },
  ids: { methods: ["next"], example: "an Ids, such as fakePorts().ids of haft/testing." },
  log: { methods: ["debug", "warn"], example: "a Log, such as console." },
};
const PORTS: readonly (keyof Ports)[] = ["clock", "random", "ids", "log"];

type Seam = "pins" | "store" | "artifacts" | "standIn" | "locks" | "slots" | "approvals";

const REQUIRED_METHODS: Readonly<Record<Seam, RequiredMethods>> = {
  pins: { methods: ["check"], example: "toolPins(lock)." },
  store: { methods: ["open", "create", "claim", "read", "close"], example: "memoryStore() or sqliteStore({ path })." },
  artifacts: { methods: ["put", "get", "prune"], example: "store.artifacts, folderArtifacts({ path }) or false." },
  standIn: { methods: ["call"], example: "an engine." },
  locks: { methods: ["request"], example: "an object that passes locksContract of haft/testing." },
  slots: { methods: ["limit"], example: "an object that passes slotsContract of haft/testing." },
  approvals: {
    methods:
      "reasonFor ask list get pending answer answerMany preview rules addRule revokeRule allowOnce allowAlways setSessionRule forget withdrawAbandoned whenSettled".split(
        " ",
      ),
    example: "an object that passes approvalsContract of haft/testing.",
  },
};
const SEAMS: readonly Seam[] = ["pins", "store", "artifacts", "standIn", "locks", "slots", "approvals"];

function checkMethods(value: unknown, name: string, { methods, example }: RequiredMethods): void {
  if (value === undefined) return;
  const missing = methods.find((method) => typeof value !== "object" || value === null || typeof Reflect.get(value, method) !== "function");
  if (missing !== undefined)
    throw new ToolError("invalid_argument", `The option "${name}" of createRuntime() has no ${missing}().`, { hint: `Give it ${example}` });
}

function checkRegistry(options: RuntimeOptions): void {
  if (!(options.registry instanceof Registry))
    throw new ToolError("invalid_argument", 'The option "registry" of createRuntime() is not a Registry.', {
      hint: "Give it new Registry().",
      operatorHint: ONE_COPY_HINT,
    });
  const own = ["permission", ...Object.keys(CALL_SETTINGS)].find((name) => Reflect.get(options, name) !== undefined);
  if (own === undefined) return;
  throw new ToolError("invalid_argument", `createRuntime() takes ${JSON.stringify(own)} or a registry, not both: a registry has its own.`, {
    hint: own === "permission" ? "Give it to new Registry({ permission })." : `Give it to new Registry({ defaults: { ${own} } }).`,
  });
}

/** Checks a hook. An instance of a class may have fields of its own. */
function checkHook(hook: Hook): void {
  if (typeof hook.name !== "string")
    throw new ToolError("invalid_argument", "Each hook of the runtime must have a name, and beforeCall or afterCall.");
  if (isPlainObject(hook)) checkKnownKeys(hook, HOOK_FIELDS, `The hook ${JSON.stringify(hook.name)}`);
  const { name, timeoutMs = 1, onFailure = "skip" } = hook;
  checkMs(timeoutMs, "timeoutMs", `the hook ${JSON.stringify(name)}`);
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1)
    throw new ToolError("invalid_argument", `timeoutMs of the hook ${JSON.stringify(name)} is ${timeoutMs}; it takes an integer from 1.`);
  if (onFailure === "skip" || onFailure === "stop") return;
  throw new ToolError(
    "invalid_argument",
    `onFailure of the hook ${JSON.stringify(name)} is ${String(onFailure)}; it takes "skip" or "stop".`,
  );
}

function checkText(value: unknown, name: string): void {
  if (value === undefined || (typeof value === "string" && value !== "")) return;
  throw new ToolError("invalid_argument", `The option "${name}" of createRuntime() must be a string that is not empty.`);
}
