/** `type = "files"`: the toolset that works on the files of a folder. */
import { resolve } from "node:path";
import { FILE_TOOLS } from "../../toolsets/files/file-tools.ts";
import { filesToolset, type FilesOptions } from "../../toolsets/files.ts";
import type { PathGuard } from "../../toolsets/files/workspace-path.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { CommonConfig, OwnPaths, ToolsetType } from "./toolset-type.ts";

/** `root` is relative to the configuration file. */
export interface FilesConfig extends CommonConfig, Omit<FilesOptions, "name" | keyof OwnPaths> {
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
      tools: table.texts("tools", (name) =>
        FILE_TOOLS.some((known) => known === name) ? undefined : `is not one of ${FILE_TOOLS.join(", ")}.`,
      ),
      allowSensitive: table.texts("allowSensitive"),
      unchangedReads: table.flag("unchangedReads"),
      pdfText: table.flag("pdfText"),
    });
    if (root === undefined) return undefined;
    const folder = variables.resolve(root, [...table.path, "root"], { mustHaveText: true });
    return { type: "files", ...common, root: folder, ...flags };
  },
  build({ name }, { root, guard, readOnly, tools, allowSensitive, unchangedReads, pdfText }, { folder, ownPaths }) {
    const flags = omitUndefined({ guard, readOnly, tools, allowSensitive, unchangedReads, pdfText, ...ownPaths });
    return { toolset: filesToolset({ name, root: resolve(folder, root), ...flags }) };
  },
};
