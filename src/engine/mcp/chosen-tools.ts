/** Which tools of a server are taken, and what they do in the words of the program. */
import type { Log } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import { EffectOverrides, namePattern } from "../effect-overrides.ts";
import { renamedTools } from "../renamed-tools.ts";
import type { McpCommonOptions } from "./options.ts";

export type ToolChoice = Pick<McpCommonOptions, "include" | "exclude" | "effects" | "rename">;

/** The tools that are taken, in the order of the server and under their new names. What fits no tool is warned of, or refused in `rename`. */
export function chosenTools(
  tools: readonly Tool[],
  choice: ToolChoice,
  { name, log }: { readonly name: string; readonly log: Log },
): readonly Tool[] {
  const { include, exclude, effects, rename } = choice;
  if (include === undefined && exclude === undefined && effects === undefined && rename === undefined) return tools;
  const included = include === undefined ? undefined : new Patterns("include", include);
  const excluded = new Patterns("exclude", exclude ?? []);
  const overrides = new EffectOverrides(effects ?? {});
  const taken = tools.filter((tool) => {
    const isIn = included === undefined || included.fits(tool.name);
    return !excluded.fits(tool.name) && isIn;
  });
  const chosen = taken.map((tool) => overrides.applied(tool));
  for (const warning of [...(included?.warnings() ?? []), ...excluded.warnings(), ...overrides.warnings()])
    log.warn(`MCP server "${name}": ${warning}`);
  return renamedTools(chosen, rename, { source: `MCP server "${name}"` });
}

class Patterns {
  readonly #key: string;
  readonly #patterns: readonly { readonly text: string; readonly fits: (name: string) => boolean }[];
  readonly #used = new Set<string>();

  constructor(key: string, patterns: readonly string[]) {
    this.#key = key;
    this.#patterns = patterns.map((text) => ({ text, fits: namePattern(text) }));
  }

  fits(name: string): boolean {
    const fitting = this.#patterns.filter((pattern) => pattern.fits(name));
    for (const { text } of fitting) this.#used.add(text);
    return fitting.length > 0;
  }

  warnings(): readonly string[] {
    const unused = this.#patterns.filter(({ text }) => !this.#used.has(text));
    return unused.map(({ text }) => `${this.#key} has ${JSON.stringify(text)}, which fits no tool.`);
  }
}
