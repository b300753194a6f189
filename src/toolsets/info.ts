/** The tool `info`: a tool's documentation on demand. @packageDocumentation */
import { checkString } from "../core/check-argument.ts";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ToolContext } from "../core/context.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Toolset } from "../core/toolset.ts";
import { readTextFile } from "../documents/read-text-file.ts";
import { defineTool } from "../registry/define-tool.ts";
import { documentationOf, type DocumentationOverrides } from "../registry/documentation.ts";
import { INFO_TOOL, DOCUMENTATION_TOOLSET } from "../call/admit/documentation-gate.ts";
import { callerVisibility, messageOf, registryOf } from "../call/context/tool-context.ts";
import { toQualifiedName } from "../wire/provider-name.ts";

/** Options of `infoToolset`. */
export interface InfoOptions {
  /**
   * Texts that replace the documentation of tools, by qualified or bare name. A function is called for each call, so that sessions or agents of one
   * runtime can have different texts, by `context.sessionId` or a value in `context.data`.
   */
  readonly overrides?: DocumentationOverrides | ((context: ToolContext) => DocumentationOverrides | undefined);
}

/**
 * Returns the toolset `manual` with the tool `info`, which returns the documentation of any tool of its runtime: `createRuntime({ toolsets:
 * [infoToolset()] })`.
 *
 * Reading it unlocks a tool with `requiresReading` for that session. Tools that are hidden from the caller are hidden here too.
 */
export function infoToolset(options: InfoOptions = {}): Toolset {
  checkKnownKeys(options, { overrides: true }, "infoToolset()");
  const { overrides } = options;
  const info = defineTool({
    name: INFO_TOOL,
    description: "Shows the full documentation of a tool. Some tools can be called only after it was read.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", description: "The name of the tool, as it is listed." } },
      required: ["name"],
      additionalProperties: false,
    },
    effects: { reads: [], writes: [], idempotent: true },
    tags: ["haft"],
    execute: ({ name }: { readonly name: string }, context: ToolContext) => {
      const registry = registryOf(context);
      const texts = typeof overrides === "function" ? overrides(context) : overrides;
      const found = documentationOf(registry, registry.has(name) ? name : toQualifiedName(name, NO_NAMES), {
        overrides: texts,
        visibility: callerVisibility(context),
      });
      markRead(context, found.name);
      return found.text;
    },
  });
  return { name: DOCUMENTATION_TOOLSET, description: "The documentation of the other tools.", tools: [info] };
}

/** For look-ups of the encoded names that providers are given, such as `files__edit`. */
const NO_NAMES: ReadonlyMap<string, string> = new Map();

const EXTENSION = ".md";
const MAX_BYTES = 1024 * 1024;
const MAX_FILES = 10_000;

/**
 * Reads overrides from a folder: `edit.md` for a tool by its bare name, `files/edit.md` for the tool of that name in the toolset `files`. Other files
 * and deeper folders are ignored.
 *
 * @throws ToolError `invalid_config` for a folder that cannot be read, a file of more than 1 MiB or one that is not UTF-8
 */
export async function readOverrides(folder: string): Promise<DocumentationOverrides> {
  checkString(folder, "readOverrides()", "the path of a folder");
  const overrides = new Map<string, string>();
  for (const entry of await entriesOf(folder)) {
    if (entry.isDirectory()) {
      const inside = join(folder, entry.name);
      for (const file of await entriesOf(inside))
        if (isDocument(file))
          await readDocumentation(overrides, `${entry.name}::${nameWithoutExtension(file.name)}`, join(inside, file.name));
    } else if (isDocument(entry)) await readDocumentation(overrides, nameWithoutExtension(entry.name), join(folder, entry.name));
  }
  return overrides;
}

interface Entry {
  readonly name: string;
  isDirectory(): boolean;
}

async function entriesOf(folder: string): Promise<readonly Entry[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (thrown: unknown) {
    throw new ToolError("invalid_config", `The folder of documentation ${folder} cannot be read: ${describeThrown(thrown)}`, {
      cause: thrown,
    });
  }
}

function isDocument(entry: Entry): boolean {
  return !entry.isDirectory() && entry.name.endsWith(EXTENSION) && entry.name.length > EXTENSION.length;
}

function nameWithoutExtension(file: string): string {
  return file.slice(0, -EXTENSION.length);
}

async function readDocumentation(overrides: Map<string, string>, name: string, path: string): Promise<void> {
  if (overrides.size >= MAX_FILES) throw new ToolError("invalid_config", `There are more than ${MAX_FILES} files of documentation.`);
  const text = await readTextFile({
    path,
    what: "documentation",
    code: "invalid_config",
    maxBytes: MAX_BYTES,
    hint: "Give a Markdown file, such as edit.md.",
  });
  overrides.set(name, text.trim());
}

/** Records which call, in which message of the model, has read the documentation of a tool. */
function markRead(context: ToolContext, qualifiedName: string): void {
  const message = messageOf(context) ?? context.turnId;
  context.state.update(qualifiedName, () => ({ message, callId: context.callId }));
}
