/** The tools of a runtime as an MCP client sees them: with names and schemas that the protocol allows. */
import { OWN_NAMESPACE } from "../../core/call.ts";
import { findReplacedTools, replacesOtherTools } from "../../registry/program-offer.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { toolDefinition } from "../../registry/tool-definition.ts";
import { providerName } from "../../wire/provider-name.ts";
import { inlineReferences } from "./inline-references.ts";
import type { Settings } from "./options.ts";
import { pageOf, type Page } from "./page.ts";
import { VALIDATE_NAME, VALIDATE_TOOL } from "./validate-tool.ts";

export interface OfferedTool {
  readonly name: string;
  readonly registered: RegisteredTool;
}

interface ToolPageOptions {
  readonly era: "legacy" | "modern";
  /** @default every tool is visible */
  readonly visible?: Visibility | undefined;
  /** Whether calls have a session. Otherwise the runtime's own tools are omitted, because they read earlier parts of a session. */
  readonly hasSession: boolean;
}

interface OfferedTools {
  readonly version: number;
  readonly tools: readonly OfferedTool[];
  readonly byName: ReadonlyMap<string, OfferedTool>;
  /** The program tool that is offered in place of other tools, if there is one. */
  readonly program: OfferedTool | undefined;
}

export class ToolList {
  readonly #registry: Registry;
  readonly #settings: Settings;
  readonly #definitions = new WeakMap<RegisteredTool, JsonObject | undefined>();
  #offer: OfferedTools | undefined;

  constructor(registry: Registry, settings: Settings) {
    this.#registry = registry;
    this.#settings = settings;
  }

  /** Finds the tool that clients call by this name; undefined if it is not listed. */
  find(name: string): OfferedTool | undefined {
    return this.#current().byName.get(name);
  }

  hasToolset(name: string): boolean {
    return this.#current().tools.some(({ registered }) => registered.toolset.name === name);
  }

  names(): readonly string[] {
    return this.#current().tools.map(({ name }) => name);
  }

  /** The listed tools; the same array until tools change. */
  get listed(): readonly OfferedTool[] {
    return this.#current().tools;
  }

  /** A page of tools; undefined for an invalid cursor. Tools whose schemas cannot be used, or not over MCP, are omitted from their page. */
  page(cursor: string | undefined, { era, visible, hasSession }: ToolPageOptions): Page<JsonObject> | undefined {
    const { tools: all, program } = this.#current();
    const tools = hasSession || this.#settings.toolsets !== undefined ? all : all.filter(({ registered }) => !isRuntimeTool(registered));
    const permitted = visible === undefined ? tools : tools.filter(({ registered }) => visible.permits(registered.qualifiedName));
    const only =
      program === undefined || !permitted.includes(program)
        ? undefined
        : findReplacedTools(program.registered, permitted.map(registeredOf));
    const seen = only === undefined ? permitted : permitted.filter(({ registered }) => !only.replaced.has(registered));
    const page = pageOf(seen, { cursor, size: this.#settings.pageSize, key: (tool) => tool.name });
    if (page === undefined) return undefined;
    const items = page.items.flatMap((tool) => {
      const plain = this.#definition(tool);
      if (plain === undefined) return [];
      const { description } = tool.registered.tool;
      const definition =
        only === undefined || tool !== program ? plain : { ...plain, description: `${description}\n\n${only.declarations}` };
      return era === "legacy" && this.#settings.tasks !== undefined ? [withTaskSupport(definition, tool)] : [definition];
    });
    const own = cursor === undefined && this.#settings.validate ? [VALIDATE_TOOL] : [];
    return { ...page, items: [...own, ...items] };
  }

  #current(): OfferedTools {
    const { version } = this.#registry;
    if (this.#offer?.version === version) return this.#offer;
    const { toolsets, session, isListed } = this.#settings;
    const listed = this.#registry
      .list()
      .filter(({ toolset }) => (toolsets === undefined ? session !== "none" || !isRuntimeTool({ toolset }) : toolsets.has(toolset.name)))
      .filter(({ qualifiedName }) => isListed(qualifiedName));
    const shared = new Set<string>();
    listed.forEach(({ qualifiedName }, index) => {
      if (listed[index + 1]?.qualifiedName === qualifiedName) shared.add(qualifiedName);
    });
    const named = listed.map((registered) => ({ name: nameOf(registered, shared.has(registered.qualifiedName)), registered }));
    const tools = this.#settings.validate ? named.filter(({ name }) => name !== VALIDATE_NAME) : named;
    const program = tools.find(({ registered }) => replacesOtherTools(registered));
    this.#offer = { version, tools, byName: new Map(tools.map((tool) => [tool.name, tool])), program };
    return this.#offer;
  }

  #definition({ name, registered }: OfferedTool): JsonObject | undefined {
    if (this.#definitions.has(registered)) return this.#definitions.get(registered);
    const definition = this.#define(name, registered);
    this.#definitions.set(registered, definition);
    return definition;
  }

  #define(name: string, registered: RegisteredTool): JsonObject | undefined {
    const { quarantine, tool } = registered;
    if (quarantine !== undefined) return undefined;
    const inputSchema = objectSchema(tool.inputSchema);
    if (inputSchema === undefined) {
      this.#settings.log.warn(`The tool ${JSON.stringify(registered.qualifiedName)} is not served over MCP: its input is not an object.`);
      return undefined;
    }
    const { title, description, outputSchema, annotations, tags } = toolDefinition(registered);
    const output = outputSchema === undefined ? undefined : plainSchema(outputSchema);
    return {
      name,
      ...(title === undefined ? {} : { title }),
      description,
      inputSchema,
      ...(output === undefined ? {} : { outputSchema: output }),
      annotations: { ...annotations, ...(title === undefined ? {} : { title }) },
      ...(tags === undefined ? {} : { _meta: { "haft/tags": tags } }),
    };
  }
}

function isRuntimeTool({ toolset }: Pick<RegisteredTool, "toolset">): boolean {
  return toolset.name === OWN_NAMESPACE;
}

function registeredOf({ registered }: OfferedTool): RegisteredTool {
  return registered;
}

/** Revision 2025-11-25: each tool says whether its calls can be tasks. Calls of tools that exchange messages while they run must be. */
function withTaskSupport(definition: JsonObject, { registered }: OfferedTool): JsonObject {
  return { ...definition, execution: { taskSupport: registered.tool.mode === "stateful" ? "required" : "optional" } };
}

/** The name for clients. Overloads get distinct names; whichever is called, the runtime picks the one that fits the input. */
function nameOf(registered: RegisteredTool, shared: boolean): string {
  const name = providerName(registered.qualifiedName);
  if (!shared) return name;
  try {
    return `${name}_${registered.fingerprint.slice(0, 16)}`;
  } catch {
    return `${name}_`; // a schema that cannot be hashed: the tool is disabled
  }
}

/**
 * The input schema as the protocol requires, and in a form that clients can pass on to stricter providers; undefined if no object is valid.
 *
 * It always has `properties`, without which OpenAI refuses a whole request; properties that are `true` become `{}`, for older clients.
 */
function objectSchema(schema: JsonSchema): JsonObject | undefined {
  const written = plainSchema(schema);
  if (schema === false || written === undefined) return undefined;
  const plain = inlineReferences(written);
  const { type = "object", properties } = plain;
  if (type !== "object" && !(Array.isArray(type) && type.includes("object"))) return undefined;
  if (!isJsonObject(properties)) return { ...plain, type: "object", properties: {} };
  const own = Object.entries(properties).map(([name, value]) => [name, typeof value === "boolean" ? (value ? {} : { not: {} }) : value]);
  return { ...plain, type: "object", properties: Object.fromEntries(own) };
}

/** Converts a boolean schema to an object: `true` becomes `{}`. */
function plainSchema(schema: JsonSchema): JsonObject | undefined {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  return isJsonObject(schema) ? schema : undefined;
}
