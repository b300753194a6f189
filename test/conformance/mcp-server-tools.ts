/** The tools that the conformance suite's server scenarios call, under the names that it prescribes. */
import type { ToolContext } from "../../src/core/context.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { pure } from "../../src/core/resources/effects.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { mcpClientOf, type McpClient } from "../../src/server/mcp.ts";

/** One red pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** No sound at all. */
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

export interface Triggers {
  toolsChange(): void;
  promptsChange(): void;
}

/** What is asked for the name of a person, in several scenarios. */
const NAME_SCHEMA = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

function client(context: ToolContext): McpClient {
  const found = mcpClientOf(context);
  if (found === undefined) throw new Error("the call did not come over MCP");
  return found;
}

function text(value: string): ToolOutput {
  return new ToolOutput({ content: [{ type: "text", text: value }] });
}

const answers: readonly Tool[] = [
  defineTool({
    name: "test_simple_text",
    description: "Answers with text.",
    effects: pure,
    execute: () => text("This is a simple text response for testing."),
  }),
  defineTool({
    name: "test_image_content",
    description: "Answers with an image.",
    effects: pure,
    execute: () => new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data: PNG }] }),
  }),
  defineTool({
    name: "test_audio_content",
    description: "Answers with sound.",
    effects: pure,
    execute: () => new ToolOutput({ content: [{ type: "audio", mediaType: "audio/wav", data: WAV }] }),
  }),
  defineTool({
    name: "test_embedded_resource",
    description: "Answers with a resource.",
    effects: pure,
    execute: () =>
      new ToolOutput({
        content: [
          { type: "file", uri: "test://embedded-resource", mediaType: "text/plain", text: "This is an embedded resource content." },
        ],
      }),
  }),
  defineTool({
    name: "test_multiple_content_types",
    description: "Answers with text, an image and a resource.",
    effects: pure,
    execute: () =>
      new ToolOutput({
        content: [
          { type: "text", text: "Multiple content types test:" },
          { type: "image", mediaType: "image/png", data: PNG },
          { type: "file", uri: "test://mixed-content-resource", mediaType: "application/json", text: '{"test":"data","value":123}' },
        ],
      }),
  }),
  {
    name: "json_schema_2020_12_tool",
    description: "Tool with JSON Schema 2020-12 features",
    effects: pure,
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
    execute: () => "ok",
  },
  {
    name: "test_x_mcp_header",
    description: "Takes an argument that is repeated in a header.",
    effects: pure,
    inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } }, required: ["region"] },
    execute: () => "ok",
  },
  defineTool({
    name: "test_error_handling",
    description: "Always fails.",
    effects: pure,
    execute: () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  }),
  defineTool({
    name: "test_tool_with_progress",
    description: "Says how far it is.",
    effects: pure,
    execute: (_input, { progress }) => {
      for (const done of [0, 50, 100]) progress({ done, total: 100 });
      return text("done");
    },
  }),
  ...["test_tool_with_logging", "test_logging_tool"].map((name) =>
    defineTool({
      name,
      description: "Sends log messages.",
      effects: pure,
      execute: (_input, context) => {
        for (const message of ["Tool execution started", "Tool processing data", "Tool execution completed"])
          client(context).log("info", message);
        return text("done");
      },
    }),
  ),
];

const questions: readonly Tool[] = [
  defineTool({
    name: "test_sampling",
    description: "Has the client's model answer a prompt.",
    effects: pure,
    inputSchema: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
    execute: async ({ prompt }, context) => {
      const answer = await client(context).sample(messageOf(prompt, 100));
      return text(`LLM response: ${JSON.stringify(answer["content"])}`);
    },
  }),
  defineTool({
    name: "test_elicitation",
    description: "Asks for a name and an address.",
    effects: pure,
    inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    execute: async ({ message }, { ask }) => {
      const properties = {
        username: { type: "string", description: "User's response" },
        email: { type: "string", description: "User's email address" },
      };
      return text(
        `User response: ${JSON.stringify(await ask({ message, schema: { type: "object", properties, required: ["username", "email"] } }))}`,
      );
    },
  }),
  defineTool({
    name: "test_elicitation_sep1034_defaults",
    description: "Asks with defaults.",
    effects: pure,
    execute: async (_input, { ask }) => {
      const properties = {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      };
      return text(
        `Elicitation completed: ${JSON.stringify(await ask({ message: "Please check", schema: { type: "object", properties } }))}`,
      );
    },
  }),
  defineTool({
    name: "test_elicitation_sep1330_enums",
    description: "Asks for choices of every kind.",
    effects: pure,
    execute: async (_input, { ask }) => {
      const titled = [
        { const: "value1", title: "First Option" },
        { const: "value2", title: "Second Option" },
        { const: "value3", title: "Third Option" },
      ];
      const properties = {
        untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
        titledSingle: { type: "string", oneOf: titled },
        legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
        untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
        titledMulti: { type: "array", items: { anyOf: titled } },
      };
      return text(
        `Elicitation completed: ${JSON.stringify(await ask({ message: "Please choose", schema: { type: "object", properties } }))}`,
      );
    },
  }),
  defineTool({
    name: "test_missing_capability",
    description: "Needs a client with a model.",
    effects: pure,
    execute: async (_input, context) => text(JSON.stringify(await client(context).sample(messageOf("Hello", 10)))),
  }),
  defineTool({
    name: "test_streaming_elicitation",
    description: "Says how far it is, then asks.",
    effects: pure,
    execute: async (_input, { ask, progress }) => {
      progress({ done: 1, total: 2 });
      return text(JSON.stringify(await ask({ message: "Your name?", schema: NAME_SCHEMA })));
    },
  }),
];

const rounds: readonly Tool[] = [
  defineTool({
    name: "test_input_required_result_elicitation",
    description: "Greets whoever answers.",
    effects: pure,
    execute: async (_input, context) => {
      const answer = await client(context).elicit({ message: "What is your name?", schema: NAME_SCHEMA }, { key: "user_name" });
      return text(`Hello, ${answer.action === "accept" ? String(answer.content?.["name"]) : "stranger"}!`);
    },
  }),
  defineTool({
    name: "test_input_required_result_sampling",
    description: "Has the client's model answer a question.",
    effects: pure,
    execute: async (_input, context) =>
      text(JSON.stringify(await client(context).sample(messageOf("What is the capital of France?", 100), { key: "capital_question" }))),
  }),
  defineTool({
    name: "test_input_required_result_list_roots",
    description: "Names the client's folders.",
    effects: pure,
    execute: async (_input, context) => text(JSON.stringify(await client(context).listRoots({ key: "client_roots" }))),
  }),
  ...["test_input_required_result_request_state", "test_input_required_result_tampered_state"].map((name) =>
    defineTool({
      name,
      description: "Asks for a yes.",
      effects: pure,
      execute: async (_input, context) => {
        const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
        await client(context).elicit({ message: "Please confirm", schema }, { key: "confirm" });
        return text("state-ok");
      },
    }),
  ),
  defineTool({
    name: "test_input_required_result_multiple_inputs",
    description: "Asks a person, a model and the client at once.",
    effects: pure,
    execute: async (_input, context) => {
      const { elicit, sample, listRoots } = bound(client(context));
      const all = await Promise.all([
        elicit({ message: "What is your name?", schema: NAME_SCHEMA }, { key: "user_name" }),
        sample(messageOf("Generate a greeting", 50), { key: "greeting" }),
        listRoots({ key: "client_roots" }),
      ]);
      return text(JSON.stringify(all));
    },
  }),
  defineTool({
    name: "test_input_required_result_multi_round",
    description: "Asks twice, one after the other.",
    effects: pure,
    execute: async (_input, context) => {
      const { elicit } = bound(client(context));
      const first = await elicit({ message: "Step 1: What is your name?", schema: NAME_SCHEMA }, { key: "step1" });
      const colour = { type: "object", properties: { color: { type: "string" } }, required: ["color"] };
      const second = await elicit({ message: "Step 2: What is your favorite color?", schema: colour }, { key: "step2" });
      return text(JSON.stringify([first, second]));
    },
  }),
  defineTool({
    name: "test_input_required_result_capabilities",
    description: "Asks only for what the client can give.",
    effects: pure,
    execute: async (_input, context) => {
      const { capabilities } = client(context);
      const { elicit, sample } = bound(client(context));
      const all = await Promise.all([
        capabilities["elicitation"] === undefined ? undefined : elicit({ message: "What is your name?", schema: NAME_SCHEMA }),
        capabilities["sampling"] === undefined ? undefined : sample(messageOf("Generate a greeting", 50)),
      ]);
      return text(JSON.stringify(all));
    },
  }),
];

/** All of them; the last two change what there is. */
export function fixtureTools({ toolsChange, promptsChange }: Triggers): readonly Tool[] {
  const trigger = (name: string, change: () => void): Tool =>
    defineTool({
      name,
      description: "Changes a list.",
      effects: { writes: [name] },
      execute: () => {
        change();
        return text("changed");
      },
    });
  return [
    ...answers,
    ...questions,
    ...rounds,
    trigger("test_trigger_tool_change", toolsChange),
    trigger("test_trigger_prompt_change", promptsChange),
  ];
}

function messageOf(prompt: string, maxTokens: number): JsonObject {
  return { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens };
}

function bound(from: McpClient): Pick<McpClient, "elicit" | "sample" | "listRoots"> {
  return { elicit: from.elicit.bind(from), sample: from.sample.bind(from), listRoots: from.listRoots.bind(from) };
}
