/** Renames the tools that a server or a document describes. */
import { checkName } from "../core/call.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { Tool } from "../core/tool.ts";
import { nearTexts } from "./near-texts.ts";

/** New names, by the names at the source. */
export type Rename = Readonly<Record<string, string>>;

export interface RenameOptions {
  /** The source of the tools, at the beginning of a message. */
  readonly source: string;
  /** Another name of a tool at its source. */
  readonly otherName?: (tool: Tool) => string | undefined;
}

/** The entries that cannot work with any source: a name that is not valid for a tool, or that is given twice. */
export function findRenameProblems(rename: Rename): readonly { readonly from: string; readonly problem: string }[] {
  const given = new Map<string, string>();
  return Object.entries(rename).flatMap(([from, to]) => {
    const problem =
      nameProblem(to) ?? (given.has(to) ? `gives the name ${JSON.stringify(to)}, as ${JSON.stringify(given.get(to))} does.` : undefined);
    given.set(to, from);
    return problem === undefined ? [] : [{ from, problem }];
  });
}

function nameProblem(name: unknown): string | undefined {
  try {
    checkName(name, "tool");
    return undefined;
  } catch (thrown: unknown) {
    return `must be the new name of a tool. ${describeThrown(thrown)}`;
  }
}

/** @throws ToolError `invalid_argument` for entries that cannot work with any source */
export function checkRename(rename: Rename = {}): void {
  if (typeof rename !== "object" || rename === null)
    throw new ToolError("invalid_argument", 'rename must be an object of new names by name, such as { "get_pets_by_id": "pet" }.');
  const [first] = findRenameProblems(rename);
  if (first !== undefined) throw new ToolError("invalid_argument", `rename: ${JSON.stringify(first.from)} ${first.problem}`);
}

/**
 * Returns the tools under their new names, in the same order.
 *
 * @throws ToolError `invalid_config` with every entry that matches no tool, and every name that two tools would have
 */
export function applyRenames(tools: readonly Tool[], rename: Rename | undefined, options: RenameOptions): readonly Tool[] {
  if (rename === undefined) return tools;
  const names = new ToolRenames(rename, options);
  const renamed = tools.map((tool) => names.apply(tool));
  const problems = [...names.findUnusedEntries(tools), ...names.duplicateProblems];
  if (problems.length === 0) return renamed;
  const [first = "", ...more] = problems;
  throw new ToolError("invalid_config", `${options.source}: ${first}`, { details: more });
}

class ToolRenames {
  /** Messages about names that two tools would have. */
  readonly duplicateProblems: string[] = [];
  readonly #rename: ReadonlyMap<string, string>;
  readonly #options: RenameOptions;
  readonly #used = new Set<string>();
  /** The source's names of the tools, by their names now. */
  readonly #sources = new Map<string, string>();

  constructor(rename: Rename, options: RenameOptions) {
    this.#rename = new Map(Object.entries(rename));
    this.#options = options;
  }

  apply(tool: Tool): Tool {
    const key = this.#keyOf(tool);
    const name = (key === undefined ? undefined : this.#rename.get(key)) ?? tool.name;
    if (key !== undefined) this.#used.add(key);
    const other = this.#sources.get(name);
    // two tools of one name that are not renamed are overloads, or an error of the source
    if (other !== undefined && (other !== tool.name || key !== undefined))
      this.duplicateProblems.push(
        `rename: ${JSON.stringify(other)} and ${JSON.stringify(tool.name)} would both be ${JSON.stringify(name)}.`,
      );
    this.#sources.set(name, tool.name);
    return name === tool.name ? tool : { ...tool, name };
  }

  findUnusedEntries(tools: readonly Tool[]): readonly string[] {
    const known = tools.map(({ name }) => name);
    return [...this.#rename.keys()].flatMap((from) => {
      if (this.#used.has(from)) return [];
      const near = nearTexts(from, known).map((name) => JSON.stringify(name));
      return [
        `rename has ${JSON.stringify(from)}, which is not one of the included tools.${near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`}`,
      ];
    });
  }

  #keyOf(tool: Tool): string | undefined {
    if (this.#rename.has(tool.name)) return tool.name;
    const other = this.#options.otherName?.(tool);
    return other !== undefined && this.#rename.has(other) ? other : undefined;
  }
}
