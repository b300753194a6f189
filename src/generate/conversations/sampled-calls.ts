/** Calls that are made up: each with what a person would have said to get it. */
import type { ToolCall } from "../../core/call.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Random } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import { type ExampleOptions, exampleValue } from "../../schema/example/example-value.ts";
import type { CatalogTool } from "../catalog.ts";
import type { KnownIds } from "./known-ids.ts";

export interface SampledCall {
  readonly request: string;
  readonly call: ToolCall;
}

export interface SampledCallsOptions {
  readonly count: number;
  readonly random: Random;
  /** Asked before each call; it is given the results of the calls that were played. */
  readonly known: KnownIds;
}

/** Calls of the tools in their order, and of the same again until there are `count`. The same random numbers give the same calls. */
export function* sampledCalls(
  tools: readonly CatalogTool[],
  { count, random, known }: SampledCallsOptions,
): Generator<SampledCall, void, undefined> {
  for (let made = 0; made < count; made++) {
    const chosen = tools[made % tools.length];
    if (chosen === undefined) return;
    const { tool, qualifiedName, namespace } = chosen;
    const input = inputFor(tool, { random, given: known.givenTo(namespace) });
    yield { request: requestFor(tool, input), call: { name: qualifiedName, input } };
  }
}

/** Nothing, for a tool that takes nothing or does not say what. */
function inputFor({ inputSchema }: Tool, options: ExampleOptions): JsonObject {
  if (typeof inputSchema !== "object" || !isDeclaring(inputSchema)) return {};
  const { value } = exampleValue(inputSchema, options);
  return isJsonObject(value) ? value : {};
}

/** `properties: {}` names no property, and an object that may hold anything is better left empty. */
function isDeclaring(schema: object): boolean {
  return Object.entries(schema).some(([keyword, value]) => DECLARING.has(keyword) && !(isEmpty(value) && NAMING.has(keyword)));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

const NAMING: ReadonlySet<string> = new Set(["properties", "required"]);
const DECLARING: ReadonlySet<string> = new Set([...NAMING, "$ref", "allOf", "anyOf", "oneOf", "const", "enum"]);

/** `Get the forecast of a city: city "Oslo", days 3.` */
function requestFor(tool: Tool, input: JsonObject): string {
  const wanted = purposeOf(tool);
  const values = Object.entries(input).map(([name, value]) => `${words(name)} ${JSON.stringify(value)}`);
  return values.length === 0 ? `${wanted}.` : `${wanted}: ${values.join(", ")}.`;
}

const MAX_PURPOSE_LENGTH = 200;

/** The first sentence of what a model reads of the tool. */
function purposeOf({ title, description, name }: Tool): string {
  const text = (title ?? description).trim();
  const [first = ""] = /^[^\n]*?(?=[.!?](?:\s|$)|\n|$)/u.exec(text.slice(0, MAX_PURPOSE_LENGTH)) ?? [];
  return first.trim() === "" ? words(name) : first.trim();
}

function words(name: string): string {
  return name.replaceAll(/[_-]+/gu, " ").trim();
}
