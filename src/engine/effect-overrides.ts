/** The program's declarations about tools whose server describes them. */
import type { Effects } from "../core/effects.ts";
import type { Tool } from "../core/tool.ts";

interface EffectRule {
  readonly pattern: string;
  readonly fits: (name: string) => boolean;
  readonly effects: Effects;
  used: boolean;
}

/** Effects by patterns over names, in place of those that a server or its description says. */
export class EffectOverrides {
  readonly #rules: readonly EffectRule[];

  constructor(effects: Readonly<Record<string, Effects>>) {
    this.#rules = Object.entries(effects).map(([pattern, each]) => ({ pattern, fits: namePattern(pattern), effects: each, used: false }));
  }

  /** The first that fits the name of the tool, or its other one. */
  applied(tool: Tool, otherName?: string): Tool {
    const names = otherName === undefined ? [tool.name] : [tool.name, otherName];
    const rule = this.#rules.find((each) => names.some(each.fits));
    if (rule === undefined) return tool;
    rule.used = true;
    return { ...tool, effects: rule.effects };
  }

  warnings(): readonly string[] {
    return this.#rules.filter((rule) => !rule.used).map((rule) => `effects has ${JSON.stringify(rule.pattern)}, which fits no tool.`);
  }
}

/** `*` matches any characters. The parts between are looked for from left to right, so no pattern is slow. */
export function namePattern(pattern: string): (name: string) => boolean {
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
