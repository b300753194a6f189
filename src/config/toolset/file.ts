/** `type = "file"`: tools that a YAML or JSON file describes. */
import { findEndingProblem } from "../../documents/read-document.ts";
import { filePath } from "../file-path.ts";
import { fileSource } from "../tools/file-source.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { TOOL_FILE_ENDINGS } from "../tools/tool-file.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface FileConfig extends CommonConfig {
  readonly type: "file";
  /** Relative to the configuration file and inside its folder, or absolute. */
  readonly path: string;
  /** Wins over the namespaces in the file. */
  readonly namespace?: string;
}

export const fileType: ToolsetType<FileConfig> = {
  keyAtFault: () => "path",
  read(table, common, { variables }) {
    const written = table.requiredText("path", "the YAML or JSON file that describes the tools");
    const namespace = table.text("namespace");
    if (written === undefined) return undefined;
    const path = variables.path(written, [...table.path, "path"]);
    const problem = path === "" ? undefined : findEndingProblem(path, TOOL_FILE_ENDINGS);
    if (problem !== undefined) table.report("path", problem);
    return { type: "file", ...common, path, ...omitUndefined({ namespace }) };
  },
  build({ name }, { path, namespace }, { folder, commonOf, clock }) {
    const file = filePath(path, folder);
    return { source: fileSource({ name, path: file, defaultNamespace: name, toolset: commonOf, clock, ...omitUndefined({ namespace }) }) };
  },
};
