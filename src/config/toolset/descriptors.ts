/** `type = "descriptors"`: ensembles, tools and MCP servers in TOML files. */
import { descriptorSource } from "../tools/descriptor-source.ts";
import { filePath } from "../file-path.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface DescriptorsConfig extends CommonConfig {
  readonly type: "descriptors";
  /** A folder of descriptors, or a single one: relative to the configuration file and inside its folder, or absolute. */
  readonly path: string;
  /** The module of their code, in the folder of the descriptors or below. */
  readonly module?: string;
}

export const descriptorsType: ToolsetType<DescriptorsConfig> = {
  keyAtFault: () => "path",
  read(table, common, { variables }) {
    const written = table.requiredText("path", "the folder of descriptors, or one of them");
    const module = table.text("module");
    if (written === undefined) return undefined;
    return { type: "descriptors", ...common, path: variables.path(written, [...table.path, "path"]), ...omitUndefined({ module }) };
  },
  build({ name }, { path, module }, { folder, common, clock, memory, logins, environment, allowVariables, trusted }) {
    const file = filePath(path, folder);
    return {
      source: descriptorSource({
        name,
        path: file,
        environment,
        allowVariables,
        toolset: common,
        clock,
        logins,
        ...omitUndefined({ module, memory, trusted }),
      }),
    };
  },
};
