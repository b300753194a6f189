/** `type = "triggers"` and `type = "channels"`: the toolsets with which a model sets its triggers, and writes to other agents. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { channelsToolset } from "../../toolsets/channels.ts";
import { triggersToolset } from "../../toolsets/triggers.ts";
import type { PlainConfig } from "./built-in.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface TriggersConfig extends CommonConfig {
  readonly type: "triggers";
  /** The names of the offered tools that add triggers. @default all */
  readonly tools?: readonly string[];
}

export const triggersType: ToolsetType<TriggersConfig> = {
  keyAtFault: () => "tools",
  read: (table, common) => ({ type: "triggers", ...common, ...omitUndefined({ tools: table.texts("tools") }) }),
  build: (_place, { tools }, { triggers }) => ({ toolset: triggersToolset({ triggers, ...omitUndefined({ tools }) }) }),
};

export const channelsType: ToolsetType<PlainConfig<"channels">> = {
  keyAtFault: () => "type",
  read: (_table, common) => ({ type: "channels", ...common }),
  build: (_place, _config, { triggers }) => ({ toolset: channelsToolset({ channels: triggers.channels }) }),
};
