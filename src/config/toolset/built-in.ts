/** The types of toolsets that need at most a folder: `ask`, `memory`, `notebook`, `scratchpad` and `skills`. */
import { resolve } from "node:path";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Toolset } from "../../core/toolset.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

/** A toolset without specific keys. */
export interface PlainConfig<Type extends string> extends CommonConfig {
  readonly type: Type;
}

/** `folder` is relative to the configuration file. */
export interface FolderConfig<Type extends string> extends CommonConfig {
  readonly type: Type;
  readonly folder: string;
}

export interface MemoryConfig extends CommonConfig {
  readonly type: "memory";
  /** `all`: sessions of the store as well. @default "own" */
  readonly sessions?: "own" | "all";
}

// The code of a toolset is only loaded if a configuration uses it.
export const askType = plainType("ask", async (options) => (await import("../../toolsets/ask.ts")).askToolset(options));
export const memoryType: ToolsetType<MemoryConfig> = {
  keyAtFault: () => "sessions",
  read: (table, common) => ({ type: "memory", ...common, ...omitUndefined({ sessions: table.choice("sessions", ["own", "all"]) }) }),
  async build({ name }, { sessions = "own" }, { store }) {
    const { memoryToolset } = await import("../../toolsets/memory.ts");
    return { toolset: memoryToolset({ name, ...(sessions === "all" && store !== undefined ? { store } : {}) }) };
  },
};
export const scratchpadType = plainType("scratchpad", async (options) =>
  (await import("../../toolsets/scratchpad.ts")).scratchpadToolset(options),
);
export const notebookType = folderType("notebook", "whose notebooks the tools may use", async ({ folder, name }) =>
  (await import("../../toolsets/notebook.ts")).notebookToolset({ root: folder, name }),
);
export const skillsType = folderType("skills", "that the skills are in", async (options) =>
  (await import("../../toolsets/skills.ts")).skillsToolset(options),
);

function plainType<const Type extends string>(
  type: Type,
  make: (options: { readonly name: string }) => Promise<Toolset>,
): ToolsetType<PlainConfig<Type>> {
  return {
    keyAtFault: () => "type",
    read: (_table, common) => ({ type, ...common }),
    build: async ({ name }) => ({ toolset: await make({ name }) }),
  };
}

function folderType<const Type extends string>(
  type: Type,
  purpose: string,
  make: (options: { readonly folder: string; readonly name: string }) => Promise<Toolset>,
): ToolsetType<FolderConfig<Type>> {
  return {
    keyAtFault: () => "folder",
    read(table, common, { variables }) {
      const folder = table.requiredText("folder", `the folder ${purpose}`);
      return folder === undefined
        ? undefined
        : { type, ...common, folder: variables.resolve(folder, [...table.path, "folder"], { mustHaveText: true }) };
    },
    build: async ({ name }, config, { folder }) => ({ toolset: await make({ folder: resolve(folder, config.folder), name }) }),
  };
}
