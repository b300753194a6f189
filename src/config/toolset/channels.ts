/** `type = "channels"`: the toolset with which a model writes to other agents. */
import { channelsToolset } from "../../toolsets/channels.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface ChannelsConfig extends CommonConfig {
  readonly type: "channels";
}

export const channelsType: ToolsetType<ChannelsConfig> = {
  keyAtFault: () => "type",
  read: (_table, common) => ({ type: "channels", ...common }),
  build: (_place, _config, { triggers }) => ({ toolset: channelsToolset({ channels: triggers.channels }) }),
};
