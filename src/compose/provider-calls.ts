/** Matches the tools that a provider runs itself with the tools of a registry. */
import { DEFAULT_NAMESPACE, qualifiedName, splitName } from "../core/call.ts";
import type { ModelTool } from "../core/model.ts";

type NamedTool = Pick<ModelTool, "name" | "providerExecuted" | "providers">;

/** Returns the provider's names of the tools that it ran for a message, without duplicates. A model without types may report any value. */
export function providerToolsIn({ providerCalls }: { readonly providerCalls?: unknown }): readonly string[] {
  const calls: readonly unknown[] = Array.isArray(providerCalls) ? providerCalls : [];
  return [...new Set(calls.flatMap((call) => nameOf(call) ?? []))];
}

/**
 * Returns the qualified names of the tools that a provider's call may belong to. Providers name calls and tools differently (`web_search_call` of
 * `web_search`): if no tool fits the name, the call counts as one of every tool that providers run.
 */
export function toolsOfProviderCall(name: string, tools: readonly NamedTool[]): readonly string[] {
  const called = plainName(name);
  const run = tools.filter(({ providerExecuted }) => providerExecuted === true);
  const fitting = run.filter((tool) => namesOf(tool).some((known) => isSimilarName(called, known)));
  const names = (fitting.length === 0 ? run : fitting).map((tool) => tool.name);
  return [...new Set([...names, qualifiedName(DEFAULT_NAMESPACE, called)])];
}

function nameOf(call: unknown): string | undefined {
  return typeof call === "object" && call !== null && "name" in call && typeof call.name === "string" ? call.name : undefined;
}

/** Returns the tool's own name, and those in its declarations. */
function namesOf({ name, providers = {} }: NamedTool): readonly string[] {
  const declared = Object.values(providers).flatMap(({ name: own, type }) => [own, type]);
  return [splitName(name).name, ...declared].flatMap((one) => (typeof one === "string" ? [plainName(one)] : []));
}

/** Whether one name begins with the other, as `web_search_20250305` does with `web_search`. */
function isSimilarName(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}_`) || other.startsWith(`${one}_`);
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/_call$/u, "");
}
