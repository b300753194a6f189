/** Binds tools that are described in a file to their code. */
import { ToolError } from "../../core/error.ts";
import { createMissingHandler } from "../../core/answers/missing-handler.ts";
import type { Tool } from "../../core/tool.ts";
import { findBindings, moduleExports } from "../tools/module-tools.ts";
import { toPlainTool } from "../../registry/check-tool-fields.ts";

export interface DescribedTool {
  readonly tool: Tool;
  /** The descriptor of the tool, for messages. */
  readonly file: string;
  /** The module with its code, relative to `folder` and inside it. */
  readonly module: string | undefined;
  readonly folder: string;
}

/** Create one per source: handlers that report missing code are then the same functions at each load. */
export class CodeBinder {
  readonly #refusals = new Map<string, () => never>();

  /**
   * Returns the described tool with the handler that the module exports under its name: a function, or a tool, whose other fields apply unless the
   * descriptor sets them. Without a handler, its calls end `not_executable` and say why. Never rejects.
   */
  async bind({ tool, file, module, folder }: DescribedTool): Promise<Tool> {
    const name = JSON.stringify(tool.name);
    if (module === undefined)
      return this.#withMissingHandler(
        tool,
        `The tool ${name} of ${file} has no code: set module in its descriptor to the file that exports it.`,
      );
    try {
      const bindings = findBindings(await moduleExports(module, folder));
      const bound = bindings.get(tool.name);
      if (typeof bound === "function") return { ...tool, execute: bound };
      if (bound?.execute !== undefined) return mergeWithCode(tool, bound);
      const known = [...bindings.keys()].slice(0, 20).join(", ");
      const exported = known === "" ? "it exports none" : `it exports ${known}`;
      return this.#withMissingHandler(
        tool,
        `The tool ${name} of ${file} has no code: ${JSON.stringify(module)} exports no function or tool of this name; ${exported}.`,
      );
    } catch (thrown: unknown) {
      return this.#withMissingHandler(tool, `The tool ${name} of ${file} has no code: module: ${ToolError.fromUnknown(thrown).message}`);
    }
  }

  #withMissingHandler(tool: Tool, reason: string): Tool {
    let refusal = this.#refusals.get(reason);
    if (refusal === undefined) {
      refusal = createMissingHandler(reason);
      this.#refusals.set(reason, refusal);
    }
    return { ...tool, execute: refusal };
  }
}

/** Merges the tool and its code. The descriptor wins, except that an empty input schema is replaced by that of the code. */
function mergeWithCode(tool: Tool, given: Tool): Tool {
  const code = toPlainTool(given); // methods of a class would not be copied
  const hasInputSchema = typeof tool.inputSchema === "object" && Object.keys(tool.inputSchema).length > 0;
  return { ...code, ...tool, inputSchema: hasInputSchema ? tool.inputSchema : code.inputSchema };
}
