/** A namespace of tools with one engine, one lifecycle and common defaults. */
import type { OptionNames } from "./known-keys.ts";
import type { Engine } from "./engine.ts";
import type { FaultPlan } from "./fault.ts";
import type { CallSettings, PromptContribution, Tool } from "./tool.ts";

/** The settings of a toolset besides its name, its tools and its engine. */
export type ToolsetSettings = Omit<Toolset, "name" | "tools" | "engine">;

/** Tools with one name space, and the engine that answers their calls. */
export interface Toolset {
  /** The namespace of its tools: `name::tool`. */
  readonly name: string;
  readonly description?: string;
  readonly tools?: readonly Tool[];
  /** Answers the calls of tools without `execute`, and may bring tools of its own. @default the `local` engine */
  readonly engine?: Engine;
  /** @default true */
  readonly enabled?: boolean;
  /** At most this many calls of the toolset at a time. Integer ≥ 1. @default no limit */
  readonly maxConcurrent?: number;
  /**
   * Its resources are used by several processes: its calls hold leases in the runtime's store, so that calls of other processes with the
   * same store wait for them as those of this process do, and its `maxConcurrent` counts the calls of all. Needs a store. Without it, locks and
   * limits are those of the process. @default false
   */
  readonly shared?: boolean;
  /**
   * The place that its resources are at, such as a disk or a browser: its calls are only run by a process that has the place, by `places` of
   * `createRuntime`. In another one they end `unavailable`, and the message names the process that has it. @default it can run anywhere
   */
  readonly place?: string;
  /** The settings of its tools that set nothing themselves. */
  readonly defaults?: CallSettings;
  /** The part of the system prompt that says how to use its tools, while any of them is offered. */
  readonly promptContribution?: PromptContribution;
  /** Failures that its calls meet on purpose, besides those of the runtime. @default none */
  readonly faults?: FaultPlan;
  /** Longest time to open, in milliseconds. @default 10_000 */
  readonly openTimeoutMs?: number;
  /**
   * Whether inputs are checked against `format`: a date that is none is `invalid_input`. Outputs never are.
   * @default true for tools that the program or its files declare, false for those that the engine brings, such as an MCP server's
   */
  readonly checkFormats?: boolean;
  /** Allow several tools of one name when their input schemas differ. @default false */
  readonly overloads?: boolean;
}

export const TOOLSET_SETTINGS: OptionNames<ToolsetSettings> = {
  description: true,
  enabled: true,
  maxConcurrent: true,
  shared: true,
  place: true,
  defaults: true,
  promptContribution: true,
  faults: true,
  openTimeoutMs: true,
  checkFormats: true,
  overloads: true,
};

/** Every field that a toolset has. */
export const TOOLSET_FIELDS: OptionNames<Toolset> = { name: true, tools: true, engine: true, ...TOOLSET_SETTINGS };

/** The settings of a toolset, and the rest of the options: those of its engine. */
export function splitSettings<Options extends object>(options: Options & ToolsetSettings): readonly [ToolsetSettings, Options] {
  const entries = Object.entries(options);
  const settings = Object.fromEntries(entries.filter(([name]) => Object.hasOwn(TOOLSET_SETTINGS, name)));
  const rest = Object.fromEntries(entries.filter(([name]) => !Object.hasOwn(TOOLSET_SETTINGS, name)));
  return [settings, rest as Options]; // what is left of both types without the keys of one
}
