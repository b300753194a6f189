/** The tool that a model may call. */
import type { ToolContext } from "./context.ts";
import type { Effects } from "./resources/effects.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import type { ToolMode } from "./jobs/job-status.ts";

/** A JSON Schema, draft 2020-12 unless `$schema` names draft-07. `{}` and `true` allow everything. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** Every `ToolCategory`. */
export const TOOL_CATEGORIES = ["SAFE_CHAIN", "TERMINAL", "DANGEROUS", "ASYNC_REQUIRED"] as const;

/** How the loop treats a tool; the categories are those of the Evennia AI assistant. A category never makes a tool a read. */
export type ToolCategory = (typeof TOOL_CATEGORIES)[number];

/** Settings that a tool, its toolset or the runtime may have; the nearest one that is set wins. */
export interface CallSettings {
  /** Maximum duration of one attempt, in milliseconds; 0 = no limit. @default 30_000 */
  readonly timeoutMs?: number;
  /** Maximum duration of the whole call, waits and retries included, in milliseconds; 0 = no limit. @default 0 */
  readonly deadlineMs?: number;
  /** Maximum number of attempts, the first included. Integer ≥ 1. @default 4 */
  readonly maxAttempts?: number;
  /** Maximum size of a result that the model sees, in UTF-8 bytes; an error may have 1,000 more. 0 = no limit. @default 65_536 */
  readonly maxResultBytes?: number;
  /** In a session: how long a call runs before it continues as a background job, in milliseconds; 0 = never. @default 0 */
  readonly promoteAfterMs?: number;
}

/** The outcome of parsing an input with the program's own schema library. */
export type ParsedInput = { readonly value: unknown } | { readonly issues: readonly string[] };

/** How long a result is kept: for a turn, a session, the lifetime of the runtime, or in the store. `tick` is an alias of `turn`. */
export type CacheScope = "turn" | "tick" | "session" | "runtime" | "persistent";

/** Whether and for how long the results of a read-only tool are kept. */
export interface CacheSettings {
  readonly scope: CacheScope;
  /** How long a result may be used, in milliseconds. @default no limit */
  readonly ttlMs?: number;
  /**
   * Keys of `context.data` that results are kept apart by, such as the user. Their values are plain JSON, and sets of it. A result for one user is
   * never given to another. If a value is missing, `context.data.principal`, which servers set, is used instead.
   */
  readonly identity?: readonly string[];
}

/** A call that succeeded, as trimming sees it. */
export interface PastCall {
  /** The unqualified name. */
  readonly name: string;
  readonly input: JsonObject;
  readonly output: JsonValue | undefined;
}

/**
 * Whether a newer call makes the result of an older one worthless to the model; both succeeded.
 *
 * When the history has grown too long, the function is called for older calls of those tools of the toolset that have such a rule too, newest first,
 * until it has returned false for 100 of them. Must be a pure function of its arguments; throwing counts as false.
 */
export interface Supersedes {
  (newer: PastCall, older: PastCall): boolean;
  /** Returns what a call is about, such as the path of a file: only calls of the same location are compared. Undefined if the call takes no part. */
  readonly locationOf?: (call: PastCall) => string | undefined;
}

/** A short hint of a tool or toolset for the system prompt. */
export interface PromptContribution {
  readonly text: string;
  /** Position among all hints: `first`, `normal` or `last`; any other word counts as `normal`, with a warning. @default "normal" */
  readonly bucket?: string;
}

/**
 * Keeps the state that calls of a simulated tool change in code, so that no model can get it wrong: stock, balances, who holds what.
 *
 * @param state the state left by earlier calls of the toolset in this session; undefined at first. Must not be changed
 * @returns the state after the call (left out: unchanged), and the facts that its result must state. Throws ToolError for a call that fails in the
 * simulated world
 */
export type Reducer<Input = JsonObject> = (
  state: JsonValue | undefined,
  input: Input,
) => { readonly state?: JsonValue; readonly facts: JsonValue };

export interface Tool extends CallSettings {
  /** The unqualified name; the namespace is that of the toolset. */
  readonly name: string;
  /** A one-line name for people. */
  readonly title?: string;
  /** The description that the model reads. */
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** Left out: the tool writes everything of its toolset and may not be repeated. */
  readonly effects?: Effects;
  /** Runs the call. Left out: its engine answers. May return a value or a promise, and may throw. */
  readonly execute?: (input: never, context: ToolContext) => unknown;
  /** Keeps the tool's simulated state if the engine `lm` or `example` answers; the tools of a toolset share one state. @default none */
  readonly reducer?: Reducer;
  /** Converts validated JSON to what `execute` takes (transforms, class instances). Runs once per call, not per attempt. */
  readonly parseInput?: (input: JsonValue) => ParsedInput | Promise<ParsedInput>;
  /** Converts what `execute` returned to JSON with the program's own schema library; runs before the output schema is checked. */
  readonly parseOutput?: (output: unknown) => ParsedInput | Promise<ParsedInput>;
  /** Checks the tool's own rules, after its schema; returns one message per problem. */
  readonly validate?: (input: JsonObject) => readonly string[];
  readonly tags?: readonly string[];
  /** Maximum number of calls of this tool at a time. Integer ≥ 1. @default no limit */
  readonly maxConcurrent?: number;
  /**
   * Whether the tool may run only once per turn. Calls that handlers and delegates of the turn make count too; calls in other sessions do not.
   * @default false; true for the category `DANGEROUS`
   */
  readonly oncePerTurn?: boolean;
  /**
   * `background`: in a session a call is answered `pending` at once and continues as a job, whose result comes later. `stateful`: the same, and
   * `execute` is an async generator: each `yield` outputs a value and returns the next input sent to the job. Outside a session, and in a simulation,
   * calls of a `background` tool are awaited. @default "direct"
   */
  readonly mode?: ToolMode;
  /** Whether the end of a background job of the tool wakes an agent. @default true */
  readonly notify?: boolean;
  /**
   * Whether the tool only makes other calls, with `context.execute`: a chain, a delegate, a program. It then has no effects of its own and takes
   * neither locks nor slots, as its calls do; a simulation runs it and simulates its calls; after a crash it is run again, but calls that had ended
   * are not. It is retried only in a session, and only if each call it made was answered. Composite tools nest at most 3 deep. @default false
   */
  readonly composite?: boolean;
  /**
   * For a composite tool: simulates a call before it runs; if the call or one inside it needs approval, a single question shows all of them. The
   * answer covers the calls shown, with their inputs and as often as shown; other calls are asked about separately. Reads do run in that simulation.
   * @default false: each call is asked about separately
   */
  readonly approveWhole?: boolean;
  /** Whether a call ends the turn: later calls of the batch are skipped. @default false; true for the category `TERMINAL` */
  readonly endsTurn?: boolean;
  readonly category?: ToolCategory;
  /**
   * Whether the model's provider runs the tool: described here, never executed. If the provider asks before it runs the tool, that is a call, which
   * needs approval. @default false
   */
  readonly providerExecuted?: boolean;
  /** The tool in the provider's own format, by the name of a wire format; sent unchanged: `{ "anthropic-messages": { type: … } }`. */
  readonly providers?: Readonly<Record<string, JsonObject>>;
  /**
   * How input keys that the schema forbids are treated: `drop` reports each as a repair.
   * @default "drop" for a tool that declares no writes, else "refuse"
   */
  readonly unknownKeys?: "drop" | "refuse";
  /** Keeps results and answers equal calls from them. Only for a tool that declares its reads, and that it writes nothing. @default never */
  readonly cache?: CacheScope | CacheSettings;
  /**
   * Decides which older results of the toolset a newer call of this tool makes worthless to the model. @default none, and no call replaces its own
   */
  readonly supersedes?: Supersedes;
  /** Keys of `context.data` that a call requires; without them it is refused. */
  readonly requires?: readonly string[];
  /** The folder where relative paths of its handler start, itself relative to the runtime's folder. @default the runtime's folder */
  readonly workingFolder?: string;
  /**
   * Variables for programs that the handler starts, as `context.environment`. Never written by `toolToJson`, as they may be secrets. @default none
   */
  readonly environment?: Readonly<Record<string, string>>;
  /** Long documentation, read on demand. */
  readonly documentation?: string;
  /** Whether calls are refused until the model has read the documentation in the session, with the tool `info`. @default false */
  readonly requiresReading?: boolean;
  /** The part of the system prompt that explains the tool, once, next to the list of tools. */
  readonly promptContribution?: PromptContribution;
  /** @default true */
  readonly enabled?: boolean;
  /** Why a tool that is still listed cannot be called, for example because its description could not be read. @default undefined */
  readonly unusable?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}
