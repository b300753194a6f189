/** The program's effects for tools that a server describes. */
import type { Effects } from "../core/resources/effects.ts";
import type { Tool } from "../core/tool.ts";

interface EffectRule {
  readonly pattern: string;
  readonly matches: (name: string) => boolean;
  readonly effects: Effects;
  used: boolean;
}

/** Effects by patterns over names, which replace those that a server or its description declares. */
export class EffectOverrides {
  readonly #rules: readonly EffectRule[];

  constructor(effects: Readonly<Record<string, Effects>>) {
    this.#rules = Object.entries(effects).map(([pattern, each]) => ({
      pattern,
      matches: compileNamePattern(pattern),
      effects: each,
      used: false,
    }));
  }

  /** Applies the first rule that matches the name of the tool, or its other name. */
  apply(tool: Tool, otherName?: string): Tool {
    const names = otherName === undefined ? [tool.name] : [tool.name, otherName];
    const rule = this.#rules.find((each) => names.some(each.matches));
    if (rule === undefined) return tool;
    rule.used = true;
    return { ...tool, effects: rule.effects };
  }

  warnings(): readonly string[] {
    return this.#rules.filter((rule) => !rule.used).map((rule) => `effects has ${JSON.stringify(rule.pattern)}, which matches no tool.`);
  }
}

/** Matches names against a pattern, `*` for any characters. The parts are searched from left to right, so matching is linear. */
export function compileNamePattern(pattern: string): (name: string) => boolean {
  const parts = pattern.split("*");
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (parts.length === 1) return (name) => name === pattern;
  return (name) => {
    if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
    let at = first.length;
    for (const part of parts.slice(1, -1)) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= name.length - last.length;
  };
}
