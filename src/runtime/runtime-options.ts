/** What a program may give createRuntime, and its checks. */
import { CALL_SETTINGS, checkMs, checkSettings } from "../core/call-settings.ts";
import { DEFAULT_NAMESPACE, qualifiedName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { Hook } from "../core/hook.ts";
import { checkRetry, type RetrySettings } from "../policy/retry.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Approvals } from "../core/approvals.ts";
import type { Ask } from "../core/ask.ts";
import type { EventListener } from "../core/event.ts";
import type { Engine } from "../core/engine.ts";
import type { FaultPlan } from "../core/fault.ts";
import type { JsonLimits } from "../core/base/json.ts";
import type { Locks } from "../core/locks.ts";
import type { Ports } from "../core/ports.ts";
import type { Slots } from "../core/slots.ts";
import type { ToolSource } from "../core/source.ts";
import type { Store } from "../core/store.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import type { ToolPins } from "../core/tool-pins.ts";
import type { Toolset } from "../core/toolset.ts";
import type { ApprovalSettings } from "../policy/approval.ts";
import type { CircuitSettings } from "../policy/circuit.ts";
import { isUnqualified, type PermissionRules } from "../policy/permission.ts";
import type { CacheOptions } from "../policy/result-cache.ts";
import { Registry } from "../registry/registry.ts";
import type { AnswerOptions } from "../call/fallback-chains.ts";

export interface RuntimeOptions extends CallSettings {
  /** Tools of the namespace `default`. */
  readonly tools?: readonly Tool[];
  /**
   * Where the tools are kept: one that has tools and toolsets already, with settings and permission rules of its own. `open` opens its
   * toolsets too. It serves one runtime. @default a new one
   */
  readonly registry?: Registry;
  readonly toolsets?: readonly Toolset[];
  /** Where more toolsets come from; read by `open` and at each `refresh`. */
  readonly sources?: readonly ToolSource[];
  /** The approved definitions of third-party tools; a tool that differs from its pin is blocked. @default none */
  readonly pins?: ToolPins;
  /** Most handlers that run at a time. Integer ≥ 1. @default no limit */
  readonly maxConcurrent?: number;
  readonly retry?: RetrySettings;
  /** When a failing tool is left alone for a while; `false` = never. */
  readonly circuit?: CircuitSettings | false;
  /** Tools that these rules deny are shown to no model and no client, and never run. @default none are denied */
  readonly permission?: PermissionRules;
  readonly approval?: ApprovalSettings;
  /** Decides and asks in place of `approval`, for example so that another process may answer. Not closed with the runtime. */
  readonly approvals?: Approvals;
  /** Keeps calls apart that touch the same resources; runtimes that share it wait for each other. @default the runtime's own */
  readonly locks?: Locks;
  /** Counts the calls of tools and toolsets with `maxConcurrent`; runtimes that share it share those limits. @default the runtime's own */
  readonly slots?: Slots;
  readonly hooks?: readonly Hook[];
  /** How much memory the results of cached tools may take. */
  readonly cache?: CacheOptions;
  /** What handlers find in `context.data`, unless an `execute` gives its own. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Answers the questions that handlers put to a person, unless an `execute` gives its own. @default they are answered `cancel` */
  readonly ask?: Ask;
  readonly onEvent?: EventListener;
  /** One toolset that fails to open fails them all. @default false */
  readonly strict?: boolean;
  /** How deep and large an input may be. */
  readonly inputLimits?: JsonLimits;
  /** Keeps sessions beyond the process; closed with the runtime. @default none: a session is gone when it is closed */
  readonly store?: Store;
  /** `async`: neither calls nor results wait for the store, and a crash may lose the latest. @default "sync" */
  readonly durability?: "sync" | "async";
  /** How many events of a stored session stay in memory, at least. Integer ≥ 1. @default 10_000 */
  readonly keepEvents?: number;
  /** Answers calls of a simulation that may not run. @default none: such calls end `not_simulatable` */
  readonly standIn?: Engine;
  /** The sources that answer tools in their place, in every session. @default none: all tools are live */
  readonly answers?: AnswerOptions;
  /** Failures that are injected into calls, whatever answers them, simulations included; a call of a tool that is not there meets none. @default none */
  readonly faults?: FaultPlan;
  /** How long an abandoned handler keeps its locks and slots. @default 10_000 */
  readonly orphanHoldMs?: number;
  /** Clock, randomness, ids and log, for tests. */
  readonly ports?: Partial<Ports>;
}

const OPTIONS: Readonly<Record<keyof RuntimeOptions, true>> = {
  timeoutMs: true,
  deadlineMs: true,
  maxAttempts: true,
  maxResultBytes: true,
  tools: true,
  registry: true,
  toolsets: true,
  sources: true,
  pins: true,
  maxConcurrent: true,
  retry: true,
  circuit: true,
  permission: true,
  approval: true,
  approvals: true,
  locks: true,
  slots: true,
  hooks: true,
  cache: true,
  data: true,
  ask: true,
  onEvent: true,
  strict: true,
  inputLimits: true,
  store: true,
  durability: true,
  keepEvents: true,
  standIn: true,
  answers: true,
  faults: true,
  orphanHoldMs: true,
  ports: true,
};

type Seam = "store" | "standIn" | "locks" | "slots" | "approvals";

/** The methods without which nothing can stand behind a seam, and what to give. */
const NEEDED: Readonly<Record<Seam, { readonly methods: readonly string[]; readonly give: string }>> = {
  store: { methods: ["open", "create", "claim", "read", "close"], give: "memoryStore() or sqliteStore({ path })." },
  standIn: { methods: ["call"], give: "an engine." },
  locks: { methods: ["request"], give: "what passes locksContract of haft/testing." },
  slots: { methods: ["limit"], give: "what passes slotsContract of haft/testing." },
  approvals: {
    methods: ["needed", "ask", "pending", "answer", "allowOnce", "allowAlways", "askMore", "forget"],
    give: "what passes approvalsContract of haft/testing.",
  },
};
const SEAMS: readonly Seam[] = ["store", "standIn", "locks", "slots", "approvals"];

/** @throws ToolError `invalid_argument` naming the option, its value and what would work */
export function checkRuntimeOptions(options: RuntimeOptions): void {
  checkKnownKeys(options, Object.keys(OPTIONS), "createRuntime()");
  checkSettings(options, "the runtime");
  checkMs(options.orphanHoldMs, "orphanHoldMs", "the runtime");
  checkRetry(options.retry ?? {});
  const { hooks = [] } = options;
  if (!Array.isArray(hooks) || !hooks.every((hook) => typeof hook === "object" && hook !== null))
    throw new ToolError("invalid_argument", "The hooks of the runtime are an array of objects with a name, and beforeCall or afterCall.");
  for (const hook of hooks) checkHook(hook);
  const { keepEvents = 1, durability = "sync" } = options;
  if (!Number.isSafeInteger(keepEvents) || keepEvents < 1)
    throw new ToolError("invalid_argument", `keepEvents of the runtime is ${String(keepEvents)}; it takes an integer of at least 1.`);
  for (const name of SEAMS) checkMethods(options[name], name);
  if (options.registry !== undefined) checkRegistry(options);
  if (options.approvals !== undefined && options.approval !== undefined)
    throw new ToolError("invalid_argument", 'createRuntime() takes "approval" or "approvals", not both: "approvals" has rules of its own.');
  if (durability !== "sync" && durability !== "async")
    throw new ToolError("invalid_argument", `durability of the runtime is ${String(durability)}; it takes "sync" or "async".`);
}

/** One warning for each name without a toolset in the rules that is not a tool of the toolset `default`: the rule would do nothing. */
export function unknownBareNames({ permission, approval }: RuntimeOptions, registry: Registry): readonly string[] {
  const rules = {
    "permission.allow": permission?.allow,
    "permission.deny": permission?.deny,
    "approval.always": approval?.always,
    "approval.never": approval?.never,
  };
  return Object.entries(rules).flatMap(([where, names = []]) =>
    names
      .filter((name) => isUnqualified(name) && !registry.has(qualifiedName(DEFAULT_NAMESPACE, name)))
      .map((name) => {
        const tool = JSON.stringify(name);
        return `${where} has ${tool}, and the toolset "default" has no tool of that name. Write "toolset::${name}", or "*::${name}" for every toolset.`;
      }),
  );
}

/** One warning for the tools that nothing can answer: without a function, an engine, or something that answers in their place. */
export function unansweredTools({ tools = [], toolsets = [], standIn, answers }: RuntimeOptions): readonly string[] {
  if (standIn !== undefined || answers !== undefined) return [];
  const groups: readonly Toolset[] = [{ name: DEFAULT_NAMESPACE, tools }, ...toolsets];
  const names = groups.flatMap(({ name, tools: own = [], engine }) =>
    engine === undefined ? own.filter(isUnanswered).map((tool) => qualifiedName(name, tool.name)) : [],
  );
  const runsSome = groups.some(({ tools: own = [], engine }) => engine !== undefined || own.some((tool) => tool.execute !== undefined));
  if (names.length === 0 || !runsSome) return []; // a runtime of definitions alone runs nothing on purpose
  const more = names.length > 5 ? ` and ${names.length - 5} more` : "";
  return [
    `Nothing runs ${names.slice(0, 5).join(", ")}${more}: give each an execute function, or its toolset an engine. Its calls end with not_executable.`,
  ];
}

function isUnanswered({ execute, providerExecuted, enabled, unusable }: Tool): boolean {
  return execute === undefined && providerExecuted !== true && enabled !== false && unusable === undefined;
}

function checkRegistry(options: RuntimeOptions): void {
  if (!(options.registry instanceof Registry))
    throw new ToolError("invalid_argument", 'The option "registry" of createRuntime() is no Registry.', {
      hint: "Give it new Registry().",
    });
  const own = ["permission", ...Object.keys(CALL_SETTINGS)].find((name) => Reflect.get(options, name) !== undefined);
  if (own === undefined) return;
  throw new ToolError("invalid_argument", `createRuntime() takes ${JSON.stringify(own)} or a registry, not both: a registry has its own.`, {
    hint: own === "permission" ? "Give it to new Registry({ permission })." : `Give it to new Registry({ defaults: { ${own} } }).`,
  });
}

function checkHook({ name, timeoutMs = 1, onFailure = "skip" }: Hook): void {
  checkMs(timeoutMs, "timeoutMs", `the hook ${JSON.stringify(name)}`);
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1)
    throw new ToolError("invalid_argument", `timeoutMs of the hook ${JSON.stringify(name)} is ${timeoutMs}; it takes an integer from 1.`);
  if (onFailure === "skip" || onFailure === "stop") return;
  throw new ToolError(
    "invalid_argument",
    `onFailure of the hook ${JSON.stringify(name)} is ${String(onFailure)}; it takes "skip" or "stop".`,
  );
}

function checkMethods(value: unknown, name: Seam): void {
  if (value === undefined) return;
  const { methods, give } = NEEDED[name];
  const missing = methods.find((method) => typeof value !== "object" || value === null || typeof Reflect.get(value, method) !== "function");
  if (missing !== undefined)
    throw new ToolError("invalid_argument", `The option "${name}" of createRuntime() has no ${missing}().`, { hint: `Give it ${give}` });
  if (name === "approvals" && typeof Reflect.get(value as object, "mayAsk") !== "boolean")
    throw new ToolError("invalid_argument", 'The option "approvals" of createRuntime() does not say whether it mayAsk.', {
      hint: `Give it ${give}`,
    });
}
