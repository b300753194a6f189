/** A namespace of tools with one engine, one lifecycle and common defaults. */
import type { OptionNames } from "./known-keys.ts";
import type { Engine } from "./engine.ts";
import type { FaultPlan } from "./answers/fault.ts";
import type { CallSettings, PromptContribution, Tool } from "./tool.ts";

/** The settings of a toolset without its name, tools and engine. */
export type ToolsetSettings = Omit<Toolset, "name" | "tools" | "engine">;

/** Tools in one namespace, and the engine that answers their calls. */
export interface Toolset {
  /** The namespace of its tools: `name::tool`. */
  readonly name: string;
  readonly description?: string;
  readonly tools?: readonly Tool[];
  /** Answers the calls of tools without `execute`, and may provide tools of its own. @default the `local` engine */
  readonly engine?: Engine;
  /** @default true */
  readonly enabled?: boolean;
  /** Maximum number of calls of the toolset at a time. Integer ≥ 1. @default no limit */
  readonly maxConcurrent?: number;
  /**
   * Whether several processes use the toolset's resources. Its calls then hold leases in the runtime's store, so that calls of all processes with the
   * same store wait for each other like calls of one process, and `maxConcurrent` counts the calls of all. Needs a store. If false, locks and limits
   * are those of this process. @default false
   */
  readonly shared?: boolean;
  /**
   * The place where its resources are, such as a disk or a browser: only a process that has the place (`places` of `createRuntime`) runs its calls.
   * In other processes they end with `unavailable`, and the message names the process that has the place. @default its calls run anywhere
   */
  readonly place?: string;
  /** Settings for its tools, unless they set their own. */
  readonly defaults?: CallSettings;
  /** The part of the system prompt that explains how to use its tools, included while any of them is offered. */
  readonly promptContribution?: PromptContribution;
  /** Faults to inject into its calls, besides those of the runtime. @default none */
  readonly faults?: FaultPlan;
  /** Maximum time to open, in milliseconds. @default 10_000 */
  readonly openTimeoutMs?: number;
  /**
   * Whether inputs are checked against `format`: an invalid date is `invalid_input`. Outputs never are.
   * @default true for tools that the program or its files declare, false for those that the engine provides, such as an MCP server's
   */
  readonly checkFormats?: boolean;
  /** Whether several tools may share a name if their input schemas differ. @default false */
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

export const TOOLSET_FIELDS: OptionNames<Toolset> = { name: true, tools: true, engine: true, ...TOOLSET_SETTINGS };

/** Splits options into the settings of a toolset and the rest, which are the options of its engine. */
export function splitSettings<Options extends object>(options: Options & ToolsetSettings): readonly [ToolsetSettings, Options] {
  const entries = Object.entries(options);
  const settings = Object.fromEntries(entries.filter(([name]) => Object.hasOwn(TOOLSET_SETTINGS, name)));
  const rest = Object.fromEntries(entries.filter(([name]) => !Object.hasOwn(TOOLSET_SETTINGS, name)));
  return [settings, rest as Options]; // the rest of both types, without the keys of one
}
