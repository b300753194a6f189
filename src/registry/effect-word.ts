/** The strongest effect of a tool's calls as one word, for lists of tools. */
import type { RegisteredTool } from "./registered-tool.ts";

export const EFFECT_WORDS = ["pure", "reads", "writes", "destructive", "undeclared", "composite"] as const;

/** `composite` for a tool that makes other calls; `undeclared` for a tool that declares neither reads nor writes. */
export type EffectWord = (typeof EFFECT_WORDS)[number];

export function effectWord({ tool: { effects, composite } }: RegisteredTool): EffectWord {
  if (composite === true) return "composite";
  if (effects?.destructive === true) return "destructive";
  if (effects === undefined || (effects.reads === undefined && effects.writes === undefined)) return "undeclared";
  if (typeof effects.writes === "function" || (effects.writes?.length ?? 0) > 0) return "writes";
  return effects.reads !== undefined && effects.reads.length === 0 ? "pure" : "reads";
}
