/** `type = "triggers"`: the toolset with which a model sets timers, schedules and channels that wake it. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { triggersToolset } from "../../toolsets/triggers.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface TriggersConfig extends CommonConfig {
  readonly type: "triggers";
  /** The names of the tools that add triggers which are offered. @default all */
  readonly tools?: readonly string[];
}

export const triggersType: ToolsetType<TriggersConfig> = {
  keyAtFault: () => "tools",
  read: (table, common) => ({ type: "triggers", ...common, ...omitUndefined({ tools: table.texts("tools") }) }),
  build: (_place, { tools }, { triggers }) => ({ toolset: triggersToolset({ triggers, ...omitUndefined({ tools }) }) }),
};
