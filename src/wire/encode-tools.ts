/** Encodes the tools of a request one by one, so that an invalid tool does not affect the others. */
import { ToolError } from "../core/error.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { ModelTool } from "../core/model.ts";
import { plural } from "../core/base/wording.ts";
import { fitSchema, type SchemaSubset } from "./fit-schema.ts";
import { ProviderNames } from "./provider-name.ts";
import type { EncodedTools, WireNote } from "./wire-format.ts";

export interface ToolRules {
  /** The name of the wire format. */
  readonly format: string;
  readonly subset: SchemaSubset;
  /** Set if the provider can enforce a schema and the request asks for it. */
  readonly strictSubset?: SchemaSubset | undefined;
  /** Maximum number of tools that the provider takes. */
  readonly maxTools?: number;
  /** Returns the provider's names for a tool that is given in the provider's own format; left out if such tools make no calls for Haft to run. */
  readonly ownNames?: (words: JsonObject) => readonly string[];
  /** Whether the model is Claude, which refuses the whole request for one invalid argument name. @default false */
  readonly isClaude?: boolean;
}

/** A tool with the fields that a format's own shape is written from. */
export interface WireTool {
  readonly tool: ModelTool;
  /** The name that is sent to the provider. */
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** Whether the schema can be enforced: the strict subset loses nothing of it. */
  readonly strict: boolean;
}

/**
 * Encodes tools in the order given; `write` gives each its provider's shape. Left out, each with a note: tools whose schema or name cannot be sent or
 * whose name is a duplicate, tools that another provider runs, and tools beyond `maxTools`. A tool with `providers[format]` is sent as that value.
 */
export function encodeEachTool(tools: readonly ModelTool[], rules: ToolRules, write: (tool: WireTool) => JsonObject): EncodedTools {
  const names = new ProviderNames();
  const given = new Set<string>();
  const ownNames: (readonly [written: string, name: string])[] = [];
  const notes: WireNote[] = [];
  const written: JsonObject[] = [];
  for (const tool of tools) {
    try {
      if (rules.maxTools !== undefined && written.length >= rules.maxTools)
        throw new ToolError("limit_exceeded", `${rules.format} takes at most ${plural(rules.maxTools, "tool")}.`);
      const own = tool.providers !== undefined && Object.hasOwn(tool.providers, rules.format) ? tool.providers[rules.format] : undefined;
      if (own !== undefined) {
        written.push(own);
        for (const name of rules.ownNames?.(own) ?? []) ownNames.push([name, tool.name]);
      } else if (tool.providerExecuted === true)
        notes.push({ kind: "unsupported", tool: tool.name, note: `${rules.format} does not run this tool, so it is left out.` });
      else {
        const one = toWireTool(tool, rules, names, notes);
        if (given.has(one.name)) throw new ToolError("duplicate", `Another tool in the request is also named ${one.name}.`);
        written.push(write(one));
        given.add(one.name);
      }
    } catch (thrown: unknown) {
      notes.push({ kind: "quarantined", tool: tool.name, note: ToolError.fromUnknown(thrown).message });
    }
  }
  return { tools: written, toolNames: new Map([...names.decoded, ...ownNames]), notes };
}

function toWireTool(tool: ModelTool, rules: ToolRules, names: ProviderNames, notes: WireNote[]): WireTool {
  const { schema, strict } = fitToolSchema(tool, rules, notes);
  if (rules.isClaude === true) checkArgumentNames(schema);
  return { tool, name: names.encode(tool.name, tool.fingerprint), description: tool.description.toWellFormed(), schema, strict };
}

/** Claude's rule for the names of arguments; names nested inside an argument may be any. */
const CLAUDE_NAME = /^[A-Za-z0-9_.-]{1,64}$/u;

function checkArgumentNames({ properties = {} }: JsonObject): void {
  const refused = isJsonObject(properties) ? Object.keys(properties).find((name) => !CLAUDE_NAME.test(name)) : undefined;
  if (refused === undefined) return;
  const rule = "names are of 1 to 64 letters (A to Z), digits, _, . and -";
  throw new ToolError("invalid_argument", `Claude takes no argument named ${JSON.stringify(refused)}: ${rule}.`);
}

function fitToolSchema(
  tool: ModelTool,
  { subset, strictSubset }: ToolRules,
  notes: WireNote[],
): { readonly schema: JsonObject; readonly strict: boolean } {
  if (strictSubset !== undefined) {
    const strict = fitSchema(tool.inputSchema, strictSubset);
    if (strict.losses.length === 0) return { schema: strict.schema, strict: true };
    notes.push({
      kind: "unsupported",
      tool: tool.name,
      note: `Not strict: ${strict.losses[0]?.path ?? "$"} ${strict.losses[0]?.note ?? ""}`,
    });
  }
  const { schema, losses } = fitSchema(tool.inputSchema, subset);
  for (const { path, note } of losses) notes.push({ kind: "schema-loss", tool: tool.name, path, note });
  return { schema, strict: false };
}
