/** The resources, prompts and completions of the conformance fixture, under the names that the suite prescribes. */
import { ToolError } from "../../src/core/error.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { PeerNotification } from "../../src/engine/mcp/peer.ts";
import type { McpProvider } from "../../src/server/mcp.ts";
import { PNG } from "./mcp-server-tools.ts";

const RESOURCES: readonly (JsonObject & { readonly uri: string; readonly content: JsonObject })[] = [
  resource("test://static-text", "text/plain", { text: "This is the content of the static text resource." }),
  resource("test://static-binary", "image/png", { blob: PNG }),
  resource("test://watched-resource", "text/plain", { text: "This resource is watched." }),
];

function resource(uri: string, mimeType: string, content: JsonObject): JsonObject & { readonly uri: string; readonly content: JsonObject } {
  return { uri, name: uri.slice("test://".length), description: `The resource ${uri}.`, mimeType, content: { uri, mimeType, ...content } };
}

function says(text: string): JsonObject {
  return { role: "user", content: { type: "text", text } };
}

const argument = (name: string): JsonObject => ({ name, description: `The ${name}.`, required: true });

const PROMPTS: readonly JsonObject[] = [
  { name: "test_simple_prompt", description: "A prompt without arguments." },
  { name: "test_prompt_with_arguments", description: "A prompt with two arguments.", arguments: [argument("arg1"), argument("arg2")] },
  { name: "test_prompt_with_embedded_resource", description: "A prompt with a resource.", arguments: [argument("resourceUri")] },
  { name: "test_prompt_with_image", description: "A prompt with an image." },
  { name: "test_input_required_result_prompt", description: "A prompt that asks for what it needs." },
];

/** What the program offers itself; `promptsChange` makes it say that its prompts have changed. */
export function fixtureOffers(): { readonly provider: McpProvider; promptsChange(): void } {
  const listeners = new Set<(notification: PeerNotification) => void>();
  const provider: McpProvider = {
    listResources: async () => ({ resources: RESOURCES.map(({ content: _content, ...shown }) => shown) }),
    listResourceTemplates: async () => ({
      resourceTemplates: [
        {
          uriTemplate: "test://template/{id}/data",
          name: "template",
          description: "Data by its id.",
          mimeType: "application/json",
        },
      ],
    }),
    readResource: async ({ uri }) => ({ contents: [contentOf(String(uri))] }),
    listPrompts: async () => ({ prompts: PROMPTS }),
    getPrompt: async ({ name, arguments: args }, { ask }) => {
      const given = typeof args === "object" && args !== null && !Array.isArray(args) ? (args as JsonObject) : {};
      if (name !== "test_input_required_result_prompt") return { messages: messagesOf(String(name), given) };
      const schema = { type: "object", properties: { context: { type: "string" } }, required: ["context"] };
      const answer = await ask?.({ message: "What context should the prompt use?", schema }, "");
      return { messages: [says(`Context: ${JSON.stringify(answer)}`)] };
    },
    complete: async () => ({ completion: { values: ["paris", "park", "party"], total: 150, hasMore: false } }),
    onNotification: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return {
    provider,
    promptsChange: () => {
      for (const tell of listeners) tell({ method: "notifications/prompts/list_changed", params: {} });
    },
  };
}

function contentOf(uri: string): JsonObject {
  const found = RESOURCES.find((known) => known.uri === uri);
  if (found !== undefined) return found.content;
  const id = /^test:\/\/template\/([^/]+)\/data$/u.exec(uri)?.[1];
  if (id === undefined) throw new ToolError("not_found", `No resource ${uri}.`);
  return { uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
}

function messagesOf(name: string, args: JsonObject): readonly JsonObject[] {
  switch (name) {
    case "test_prompt_with_arguments":
      return [says(`Prompt with arguments: arg1='${String(args["arg1"])}', arg2='${String(args["arg2"])}'`)];
    case "test_prompt_with_embedded_resource": {
      const embedded = { uri: String(args["resourceUri"]), mimeType: "text/plain", text: "Embedded resource content for testing." };
      return [{ role: "user", content: { type: "resource", resource: embedded } }, says("Please process the embedded resource above.")];
    }
    case "test_prompt_with_image":
      return [{ role: "user", content: { type: "image", data: PNG, mimeType: "image/png" } }, says("Please analyze the image above.")];
    default:
      return [says("This is a simple prompt for testing.")];
  }
}
