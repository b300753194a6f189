/** `type = "inline"`: tools in the configuration itself. */
import type { SourceContext } from "../../core/source.ts";
import type { Toolset } from "../../core/toolset.ts";
import { toToolsets } from "../tools/file-source.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { kindOf } from "../table-reader.ts";
import { toolsOfList, type ReadTools } from "../tools/tool-file.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface InlineConfig extends CommonConfig {
  readonly type: "inline";
  readonly namespace?: string;
  /** Reads each tool separately, for a toolset of this name. @throws ToolError `invalid_config` if none is valid */
  readonly tools: (name: string) => ReadTools;
}

export const inlineType: ToolsetType<InlineConfig> = {
  keyAtFault: () => "tools",
  read(table, common, { problems }) {
    const namespace = table.text("namespace");
    const list = table.value("tools");
    if (!Array.isArray(list)) {
      if (list === undefined) table.report(undefined, '"tools" is missing: the list of tools.');
      else table.report("tools", `must be an array of tools, not ${kindOf(list)}.`);
      return undefined;
    }
    const definitions: readonly unknown[] = list;
    const path = [...table.path, "tools"];
    return {
      type: "inline",
      ...common,
      ...omitUndefined({ namespace }),
      tools: (otherwise) => toolsOfList(definitions, path, { problems: problems.createEmpty(), namespace, otherwise }),
    };
  },
  build({ name }, { tools }, { common, commonOf }) {
    let made: readonly Toolset[] | undefined;
    const load = async (context: SourceContext): Promise<readonly Toolset[]> => {
      made ??= toToolsets(tools(name), commonOf, context);
      return made.length === 0 && common.engine !== undefined ? [{ ...common, name }] : made; // the engine brings the tools
    };
    return { source: { name, load } };
  },
};
