/** Recognizes documents of other formats, so that an error message can say what would work. */
import { describeValueType } from "../core/base/wording.ts";

interface ForeignFormat {
  /** The keys that identify the format, with their types; `a.b` is a key inside an object. */
  readonly keys: Readonly<Record<string, "a string" | "a number" | "an array" | "an object">>;
  readonly what: string;
  readonly instead: string;
}

const OPENAPI = {
  what: "an OpenAPI document",
  instead: 'Use it as the document of a toolset of type = "openapi".',
};

const FOREIGN_FORMATS: readonly ForeignFormat[] = [
  { keys: { openapi: "a string", info: "an object" }, ...OPENAPI },
  { keys: { swagger: "a string", info: "an object" }, ...OPENAPI },
  {
    keys: { info: "an object", "info.schema": "a string", item: "an array" },
    what: "a Postman collection",
    instead: "Convert it to an OpenAPI document, for example with the npm package postman-to-openapi.",
  },
  {
    keys: { arazzo: "a string", workflows: "an array" },
    what: "an Arazzo document of workflows",
    instead:
      'Name each OpenAPI document of its sourceDescriptions in a toolset of type = "openapi"; write sequences of calls as type = "chains".',
  },
  {
    keys: { asyncapi: "a string" },
    what: "an AsyncAPI document of messages",
    instead: "Describe the part of the service that answers HTTP requests as an OpenAPI document.",
  },
  {
    keys: { discoveryVersion: "a string" },
    what: "a Google discovery document",
    instead: "Convert it to an OpenAPI document, for example with the npm package google-discovery-to-swagger.",
  },
  {
    keys: { agentsJson: "a string" },
    what: "an agents.json",
    instead: 'Name each OpenAPI document of its sources in a toolset of type = "openapi".',
  },
  {
    keys: { name: "a string", skills: "an array", capabilities: "an object" },
    what: "an agent card of A2A",
    instead: 'Haft does not call agents over A2A. Use an agent that is also an MCP server as a toolset of type = "mcp".',
  },
  {
    keys: { lc: "a number", id: "an array" },
    what: "a serialized LangChain object",
    instead: "It has no schema of its input. Write the tools as JSON Schema, in Python with convert_to_openai_tool().",
  },
  {
    keys: { __schema: "an object" },
    what: "a GraphQL schema",
    instead: 'Write the queries as tools of type = "http".',
  },
  {
    keys: { registry: "an object", displayName: "a string" },
    what: "a catalog of Docker's MCP servers",
    instead: 'Docker\'s gateway serves them all: type = "mcp", command = "docker", args = ["mcp", "gateway", "run"].',
  },
  {
    keys: { startCommand: "an object", "startCommand.type": "a string" }, // a tool named `startCommand` has other keys
    what: "a smithery.yaml, whose command is built by code",
    instead: 'Write the command of the server: type = "mcp", command = "…", args = […].',
  },
];

export interface ForeignDocument {
  /** With its article. */
  readonly what: string;
  /** One or two whole sentences. */
  readonly instead: string;
}

/** Returns the known format of a document that is not of the expected one; undefined for any other document. */
export function recognizeForeignDocument(value: unknown): ForeignDocument | undefined {
  return FOREIGN_FORMATS.find(({ keys }) =>
    Object.entries(keys).every(([key, type]) => describeValueType(valueAt(value, key.split("."))) === type),
  );
}

function valueAt(value: unknown, [key, ...more]: readonly string[]): unknown {
  if (key === undefined) return value;
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return isObject ? valueAt(Reflect.get(value, key), more) : undefined;
}
