/** `type = "files"`: the toolset that works on the files of a folder. */
import { resolve } from "node:path";
import { filesToolset, type FilesOptions } from "../../toolsets/files.ts";
import type { PathGuard } from "../../toolsets/files/workspace-path.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

/** `root` is relative to the configuration file. */
export interface FilesConfig extends CommonConfig, Omit<FilesOptions, "name" | "protect"> {
  readonly type: "files";
}

const GUARDS = ["block", "warn", "off"] as const satisfies readonly PathGuard[];

export const filesType: ToolsetType<FilesConfig> = {
  keyAtFault: () => "root",
  read(table, common, { variables }) {
    const root = table.requiredText("root", "the folder whose files the tools may use");
    const flags = omitUndefined({
      guard: table.choice("guard", GUARDS),
      readOnly: table.flag("readOnly"),
      allowSensitive: table.texts("allowSensitive"),
      unchangedReads: table.flag("unchangedReads"),
    });
    if (root === undefined) return undefined;
    return { type: "files", ...common, root: common.enabled ? variables.value(root, [...table.path, "root"]) : root, ...flags };
  },
  build({ name }, { root, guard, readOnly, allowSensitive, unchangedReads }, { folder, ownPaths }) {
    const flags = omitUndefined({ guard, readOnly, allowSensitive, unchangedReads, protect: ownPaths });
    return { toolset: filesToolset({ name, root: resolve(folder, root), ...flags }) };
  },
};
