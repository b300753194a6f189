/** How full a model's context is, in four levels for the model and the program. */
import { ToolError } from "../core/error.ts";

export type ContextLevel = "ok" | "warning" | "danger" | "critical";

export interface ContextAdvisory {
  readonly level: ContextLevel;
  /** From 0; above 1 if the provider counts differently than `contextTokens` says. */
  readonly utilization: number;
  readonly usedTokens: number;
  readonly contextTokens: number;
}

export const CONTEXT_LEVELS: readonly ContextLevel[] = ["ok", "warning", "danger", "critical"];

/** Below 70 % `ok`, from 70 % `warning`, from 85 % `danger`, above 95 % `critical`. @throws ToolError `invalid_argument` */
export function contextAdvisory(usedTokens: number, contextTokens: number): ContextAdvisory {
  if (!(contextTokens > 0))
    throw new ToolError("invalid_argument", `contextTokens must be a number above 0, not ${String(contextTokens)}.`);
  const utilization = Math.round((usedTokens / contextTokens) * 10_000) / 10_000;
  return { level: toLevel(utilization), utilization, usedTokens, contextTokens };
}

/** The note for the model when a level is reached; undefined for `ok`. */
export function advisoryNote({ level, utilization }: ContextAdvisory): string | undefined {
  if (level === "ok") return undefined;
  return `${Math.round(utilization * 100)} % of your context is used. ${ADVICE[level]}`;
}

const ADVICE: Readonly<Record<Exclude<ContextLevel, "ok">, string>> = {
  warning: "Ask for less at a time, and do not read again what you have read.",
  danger: "Make only the calls that the answer needs, with small results.",
  critical: "Answer now with what you have: another large result will not fit.",
};

function toLevel(utilization: number): ContextLevel {
  if (utilization > 0.95) return "critical";
  if (utilization >= 0.85) return "danger";
  return utilization >= 0.7 ? "warning" : "ok";
}
