/** `type = "module"`: the tools that a JavaScript or TypeScript file exports. */
import { checkTool } from "../../registry/check-registration.ts";
import { moduleTools } from "../tools/module-tools.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface ModuleConfig extends CommonConfig {
  readonly type: "module";
  /** Relative to the configuration file, and inside its folder. */
  readonly path: string;
}

export const moduleType: ToolsetType<ModuleConfig> = {
  keyAtFault: () => "path",
  read(table, common) {
    const path = table.requiredText("path", "the file that exports the tools");
    return path === undefined ? undefined : { type: "module", ...common, path };
  },
  async build(_place, { path }, { folder }) {
    const toolset = await moduleTools(path, folder);
    for (const tool of toolset.tools ?? []) checkTool(tool); // checked here to report the place in the configuration
    return { toolset };
  },
};
