/** The tool that a model may call. */
import type { ToolContext } from "./context.ts";
import type { Effects } from "./effects.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import type { ToolMode } from "./job-status.ts";

/** A JSON Schema, draft 2020-12 unless `$schema` names draft-07. `{}` and `true` allow everything. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** The categories of `ToolCategory`. */
export const TOOL_CATEGORIES = ["SAFE_CHAIN", "TERMINAL", "DANGEROUS", "ASYNC_REQUIRED"] as const;

/** How the loop treats a tool, by the categories of the Evennia AI assistant. It never makes a tool a read. */
export type ToolCategory = (typeof TOOL_CATEGORIES)[number];

/** Settings a tool, its toolset or the runtime may give; the nearest one that is set wins. */
export interface CallSettings {
  /** Longest time of one attempt, in milliseconds; 0 = no limit. @default 30_000 */
  readonly timeoutMs?: number;
  /** Longest time of the whole call, waits and retries included, in milliseconds; 0 = no limit. @default 0 */
  readonly deadlineMs?: number;
  /** How often the call may be attempted in all, the first included. Integer ≥ 1. @default 4 */
  readonly maxAttempts?: number;
  /** Most UTF-8 bytes of a result that the model is shown; 0 = no limit. @default 65_536 */
  readonly maxResultBytes?: number;
  /** In a session: after so many milliseconds a call that still runs continues as a background job; 0 = never. @default 0 */
  readonly promoteAfterMs?: number;
}

/** The outcome of parsing an input with the program's own schema library. */
export type ParsedInput = { readonly value: unknown } | { readonly issues: readonly string[] };

/** How long a result is kept: for a turn, a session, as long as the runtime, or in the store. `tick` is another word for `turn`. */
export type CacheScope = "turn" | "tick" | "session" | "runtime" | "persistent";

/** Whether and for how long the results of a tool that reads are kept. */
export interface CacheSettings {
  readonly scope: CacheScope;
  /** How long a result may be used, in milliseconds. @default no limit */
  readonly ttlMs?: number;
  /**
   * Keys of `context.data` whose values a result belongs to, such as the user: plain JSON, and sets of it. A result of one user is never given to
   * another. Where a value is missing, a result belongs to `context.data.principal`, which servers set.
   */
  readonly identity?: readonly string[];
}

/** A call that has ended well, as trimming looks at it. */
export interface PastCall {
  /** Unqualified. */
  readonly name: string;
  readonly input: JsonObject;
  readonly output: JsonValue | undefined;
}

/**
 * Whether a newer call makes the result of an older one worthless to the model, both having ended well.
 *
 * When the history has grown too long, it is asked about older calls of the toolset whose tools have such a rule too, the newest
 * first, until it has refused 100 of them. Must be a pure function of the two; throwing means no.
 */
export interface Supersedes {
  (newer: PastCall, older: PastCall): boolean;
  /** Returns the subject of a call, such as the path of a file: then only calls of the same location are compared. Undefined = it takes no part. */
  readonly locationOf?: (call: PastCall) => string | undefined;
}

/** A short hint of a tool or toolset for the system prompt. */
export interface PromptContribution {
  readonly text: string;
  /** `first`, `normal` or `last` of all hints; any other word counts as `normal`, with a warning. @default "normal" */
  readonly bucket?: string;
}

/**
 * Keeps by code what calls of a simulated tool change, so that no model can get it wrong: stock, balances, who holds what.
 *
 * @param state what the reducers of the toolset made of it in this session so far; undefined at first. Not to be changed
 * @returns the state after the call (left out = as before), and the facts that its result must state. Throws ToolError for a call that
 * fails in the simulated world
 */
export type Reducer<Input = JsonObject> = (
  state: JsonValue | undefined,
  input: Input,
) => { readonly state?: JsonValue; readonly facts: JsonValue };

export interface Tool extends CallSettings {
  /** Unqualified: the toolset gives the namespace. */
  readonly name: string;
  /** One line for people. */
  readonly title?: string;
  /** The description that the model reads. */
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** Left out = writes everything of its toolset and may not be repeated. */
  readonly effects?: Effects;
  /** Runs the call. Left out = its engine answers. May return a value or a promise, and may throw. */
  readonly execute?: (input: never, context: ToolContext) => unknown;
  /** Keeps its state where the engine `lm` or `example` answers; the tools of a toolset share one. @default none */
  readonly reducer?: Reducer;
  /** Turns validated JSON into what `execute` takes (transforms, class instances). Runs once a call, not once an attempt. */
  readonly parseInput?: (input: JsonValue) => ParsedInput | Promise<ParsedInput>;
  /** Turns what `execute` returned into JSON by the program's own schema library; runs before the output schema is checked. */
  readonly parseOutput?: (output: unknown) => ParsedInput | Promise<ParsedInput>;
  /** The tool's own rules, after its schema: one message per problem. */
  readonly validate?: (input: JsonObject) => readonly string[];
  readonly tags?: readonly string[];
  /** At most this many calls of this tool at a time. Integer ≥ 1. @default no limit */
  readonly maxConcurrent?: number;
  /** At most one call a turn. @default false; true for the category `DANGEROUS` */
  readonly oncePerTurn?: boolean;
  /**
   * `background`: in a session a call is answered `pending` at once and continues as a job, whose end comes later. `stateful`: as well, and
   * `execute` is an async generator: each `yield` is something to say, and gives what is sent to the job. Outside a session, and in a
   * simulation, calls of a `background` tool are waited for. @default "direct"
   */
  readonly mode?: ToolMode;
  /** Whether the end of a background job of it wakes an agent. @default true */
  readonly notify?: boolean;
  /**
   * It only makes other calls, by `context.execute`: a chain, a delegate, a program. It has no effects of its own and takes neither locks nor
   * slots, as its calls do; a simulation runs it and simulates them; after a crash it is run again, and those that had ended are not.
   * Another attempt is made only in a session, where each call it made was answered.
   * Composite tools call one another 3 deep at most. @default false
   */
  readonly composite?: boolean;
  /**
   * Of a composite tool: before a call of it runs, it is simulated, and where it or a call in it needs approval, one question shows them all. The answer
   * covers the calls that were shown, with their inputs and as often as they were shown; others are asked about on their own. What only reads
   * is run in the simulation too. @default false: each call is asked about on its own
   */
  readonly approveWhole?: boolean;
  /** Ends the turn: later calls of the batch are skipped. @default false; true for the category `TERMINAL` */
  readonly endsTurn?: boolean;
  readonly category?: ToolCategory;
  /** Run by the model's provider: described here, never executed. A provider that asks before it runs the tool makes a call of it, which needs approval. @default false */
  readonly providerExecuted?: boolean;
  /** By the name of a wire format, the tool in that provider's own words, sent as it is: `{ "anthropic-messages": { type: … } }`. */
  readonly providers?: Readonly<Record<string, JsonObject>>;
  /**
   * How input keys that the schema forbids are treated: `drop` reports each as a repair.
   * @default "drop" for a tool that declares no writes, else "refuse"
   */
  readonly unknownKeys?: "drop" | "refuse";
  /**
   * Keep its results and answer equal calls from them. Only for a tool that declares what it reads and that it writes nothing.
   * @default never
   */
  readonly cache?: CacheScope | CacheSettings;
  /** Which results of its toolset a newer call of this tool makes worthless to the model. @default none, and no call replaces its own */
  readonly supersedes?: Supersedes;
  /** Keys of `context.data` without which a call is refused. */
  readonly requires?: readonly string[];
  /** Where the relative paths of its handler start: itself relative to the folder of the runtime. @default that folder */
  readonly workingFolder?: string;
  /** The variables for programs that it starts, as `context.environment`. Never written by `toolToJson`, for they may be secrets. @default none */
  readonly environment?: Readonly<Record<string, string>>;
  /** Long documentation, read on demand. */
  readonly documentation?: string;
  /** Refuse its calls until the model has read its documentation in the session, by the tool `info`. @default false */
  readonly requiresReading?: boolean;
  /** The part of the system prompt that says how to use it, once, next to the list of tools. */
  readonly promptContribution?: PromptContribution;
  /** @default true */
  readonly enabled?: boolean;
  /** Why it cannot be called, for one that is listed all the same, such as a tool whose description could not be read. @default it can */
  readonly unusable?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}
