/** Programs are written from memory of other libraries: their words and shapes are answered with those that there are here. */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createLoop,
  createRuntime,
  defineTool,
  toolFunction,
  ToolError,
  ToolOutput,
  type ToolResult,
} from "../../src/index.ts";
import { modelFrom, scriptedModel } from "../../src/model/models.ts";
import { createServer, staticToken } from "../../src/server.ts";
import { delegateTool } from "../../src/public/delegate.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { agUiHandler } from "../../src/adapters/ag-ui.ts";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { uiChatHandler } from "../../src/adapters/ui-stream.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";

const fields = { name: "weather", description: "Tells the weather.", inputSchema: { type: "object" }, execute: () => 1 } as const;
const runtime = createRuntime({ tools: [defineTool(fields)] });
const model = scriptedModel([]);
const any = (given: object): never => given as never;

const REFUSED: readonly (readonly [title: string, attempt: () => unknown, message: RegExp, hint: RegExp | undefined])[] = [
  ["parameters of a tool", () => defineTool(any({ ...fields, parameters: {} })), /unknown field "parameters"/u, /"inputSchema"/u],
  ["schema of a tool", () => defineTool(any({ ...fields, schema: {} })), /unknown field "schema"/u, /"inputSchema"/u],
  ["args of a tool", () => defineTool(any({ ...fields, args: {} })), /unknown field "args"/u, /"inputSchema"/u],
  ["func of a tool", () => defineTool(any({ ...fields, func: () => 1 })), /unknown field "func"/u, /"execute"/u],
  ["id of a tool", () => defineTool(any({ ...fields, id: "w" })), /unknown field "id"/u, /"name"/u],
  [
    "effects of a tool as in a file",
    () => defineTool(any({ ...fields, effects: "readOnly" })),
    /must be an object/u,
    /import pure, readOnly/u,
  ],
  [
    "a function for its tool",
    () => createRuntime(any({ tools: [toolFunction(fields, () => 1)] })),
    /not the function of toolFunction/u,
    /property tool/u,
  ],
  [
    "a function for approval",
    () => createRuntime(any({ approval: () => "allow-once" })),
    /approval.*an object, not a function/u,
    /\{ approve \}/u,
  ],
  ["model of a runtime", () => createRuntime(any({ model })), /"model"/u, /runtime\.loop\(\{ model \}\)/u],
  ["maxRetries of a runtime", () => createRuntime(any({ maxRetries: 3 })), /"maxRetries"/u, /"maxAttempts"/u],
  [
    "maxAttempts of retry",
    () => createRuntime(any({ retry: { maxAttempts: 3 } })),
    /"maxAttempts"/u,
    /createRuntime\(\{ maxAttempts \}\)/u,
  ],
  [
    "timeoutMs of a toolset",
    () => createRuntime(any({ toolsets: [{ name: "shop", timeoutMs: 3 }] })),
    /toolset "shop" has no option "timeoutMs"/u,
    /defaults: \{ timeoutMs \}/u,
  ],
  ["token of a server", () => createServer(runtime, any({ token: "secret" })), /"token"/u, /auth: staticToken\(\{ token \}\)/u],
  ["runtime of an agent", () => createAgent(any({ model, runtime })), /"runtime"/u, /session: runtime\.session\(\)/u],
  ["a function for stopWhen", () => runtime.loop(any({ model, stopWhen: () => "done" })), /must be an array, not a function/u, /\[one\]/u],
  ["concurrency of a runtime", () => createRuntime(any({ concurrency: 3 })), /"concurrency"/u, /"maxConcurrent"/u],
  [
    "a chat without run",
    () => uiChatHandler(runtime, any({ session: () => runtime.session() })),
    /a function as "run", not undefined/u,
    /session/u,
  ],
  ["a chat without session", () => agUiHandler(runtime, any({ run: () => 1 })), /a function as "session", not undefined/u, /session/u],
  ["needsApproval of a tool", () => defineTool(any({ ...fields, needsApproval: true })), /"needsApproval"/u, /destructive: true/u],
  ["annotations of a tool", () => defineTool(any({ ...fields, annotations: { readOnlyHint: true } })), /"annotations"/u, /readOnly\(/u],
  ["strict of a tool", () => defineTool(any({ ...fields, strict: true })), /"strict"/u, /Leave it out/u],
  ["errorFunction of a tool", () => defineTool(any({ ...fields, errorFunction: null })), /"errorFunction"/u, /ToolError/u],
  [
    "retry of a tool",
    () => defineTool(any({ ...fields, retry: { delayMs: 10 } })),
    /unknown field "retry"/u,
    /maxAttempts.*createRuntime/u,
  ],
  ["retries of a tool", () => defineTool(any({ ...fields, retries: 3 })), /unknown field "retries"/u, /maxAttempts.*createRuntime/u],
  ["circuit of a tool", () => defineTool(any({ ...fields, circuit: false })), /unknown field "circuit"/u, /circuit of createRuntime/u],
  [
    "orphanHoldMs of a tool",
    () => defineTool(any({ ...fields, orphanHoldMs: 10 })),
    /unknown field "orphanHoldMs"/u,
    /orphanHoldMs of createRuntime/u,
  ],
  ["isEnabled of a tool", () => defineTool(any({ ...fields, isEnabled: () => true })), /"isEnabled"/u, /"enabled".*allow/u],
  ["guardrails of a tool", () => defineTool(any({ ...fields, inputGuardrails: [] })), /"inputGuardrails"/u, /defineHook/u],
  [
    "properties for a schema",
    () => defineTool({ ...fields, inputSchema: { city: { type: "string" } } }),
    /"city" looks like a property name/u,
    /properties/u,
  ],
  [
    "types for a schema",
    () => defineTool({ ...fields, inputSchema: { city: "string" } }),
    /"city" looks like a property name/u,
    /properties/u,
  ],
  [
    "one tool for an array",
    () => createRuntime(any({ tools: defineTool(fields) })),
    /"tools" of createRuntime\(\) must be an array/u,
    /\[one\]/u,
  ],
  ["instructions of a loop", () => runtime.loop(any({ model, instructions: "Be short." })), /"instructions"/u, /"system"/u],
  ["maxSteps of a loop", () => runtime.loop(any({ model, maxSteps: 3 })), /"maxSteps"/u, /"limits"/u],
  ["tools of a loop", () => runtime.loop(any({ model, tools: [defineTool(fields)] })), /not an array/u, /createRuntime\(\{ tools/u],
  [
    "a model of AI SDK",
    () => runtime.loop(any({ model: { doStream: () => 1 } })),
    /a model, or its name as a string, not an object/u,
    /modelFrom/u,
  ],
  ["a session by its id", () => createLoop(any({ model, session: "s" })), /a session, not a string/u, /runtime\.session\(\)/u],
  ["name of an agent", () => runtime.loop(any({ model, name: "guide" })), /"name"/u, /"agentName"/u],
  ["context of an agent", () => runtime.loop(any({ model, context: {} })), /"context"/u, /calls: \{ data \}/u],
  ["context of a runtime", () => createRuntime(any({ context: {} })), /"context"/u, /"data"/u],
  ["handoffs", () => runtime.loop(any({ model, handoffs: [] })), /"handoffs"/u, /delegateTool\(\)/u],
  [
    "guardrails of an agent",
    () => runtime.loop(any({ model, outputGuardrails: [] })),
    /"outputGuardrails"/u,
    /hooks of createRuntime\(\)/u,
  ],
  ["outputType of an agent", () => runtime.loop(any({ model, outputType: {} })), /"outputType"/u, /run\(prompt, \{ output: schema \}\)/u],
  ["modelSettings", () => runtime.loop(any({ model, modelSettings: {} })), /"modelSettings"/u, /temperature, toolChoice/u],
  ["mcpServers of an agent", () => runtime.loop(any({ model, mcpServers: [] })), /"mcpServers"/u, /mcpToolset\(name, options\)/u],
  ["toolUseBehavior", () => runtime.loop(any({ model, toolUseBehavior: "stop_on_first_tool" })), /"toolUseBehavior"/u, /endsTurn: true/u],
  ["parallelToolCalls", () => runtime.loop(any({ model, parallelToolCalls: false })), /"parallelToolCalls"/u, /"parallelCalls"/u],
  ["maxTurns of a run", () => runtime.loop({ model }).run("Hi.", any({ maxTurns: 3 })), /"maxTurns"/u, /limits: \{ maxRounds \}/u],
  ["stream of a run", () => runtime.loop({ model }).run("Hi.", any({ stream: true })), /"stream"/u, /loop\.stream\(prompt\)/u],
  ["session of a run", () => runtime.loop({ model }).run("Hi.", any({ session: {} })), /"session"/u, /loop\(\{ model, session \}\)/u],
  ["toolName of an agent as a tool", () => delegateTool(any({ toolName: "look", description: "Looks.", model })), /"toolName"/u, /"name"/u],
  [
    "tools of an agent as a tool",
    () => delegateTool(any({ name: "look", description: "Looks.", model, tools: [] })),
    /"tools"/u,
    /"allow"/u,
  ],
  ["fullCommand of a server", () => mcpToolset("files", any({ fullCommand: "npx files" })), /"fullCommand"/u, /"command"/u],
  [
    "requestInit of a server",
    () => mcpToolset("files", any({ url: "https://a.example", requestInit: {} })),
    /"requestInit"/u,
    /"headers"/u,
  ],
  [
    "authProvider of a server",
    () => mcpToolset("files", any({ url: "https://a.example", authProvider: {} })),
    /"authProvider"/u,
    /"auth"/u,
  ],
  ["name of a server", () => mcpToolset("files", any({ url: "https://a.example", name: "files" })), /"name"/u, /first argument/u],
  [
    "stream of a function that is for no agent",
    () => toAiSdkTools(runtime, any({ stream: true })),
    /"stream"/u,
    /Known options: session, only/u,
  ],
  ["schema of a run", () => runtime.loop({ model }).run("Hi.", any({ schema: {} })), /"schema"/u, /"output"/u],
  ["a variable that is not set, for a model", () => modelFrom(undefined as never), /not undefined/u, undefined],
  ["a variable that is not set, for a token", () => staticToken(any({ token: undefined })), /a string, not undefined/u, undefined],
  [
    "a controller for its signal",
    () => runtime.execute([], any({ signal: new AbortController() })),
    /not an AbortController/u,
    /controller\.signal/u,
  ],
  [
    "a port for the address of a server",
    () => createServer(runtime, { auth: staticToken({ token: "0123456789abcdef" }) }).listen(3000 as never),
    /The options of listen\(\) must be an object, not a number/u,
    /^Write \{ .*port/u,
  ],
  [
    "a path for a store",
    () => sqliteStore("haft.db" as never),
    /The options of sqliteStore\(\) must be an object, not a string/u,
    /^Write \{ path/u,
  ],
  [
    "execute() of a session off its object",
    () => Reflect.apply(runtime.session().execute, undefined, [{ name: "weather" }]),
    /was detached from/u,
    /session\.execute/u,
  ],
  [
    "execute() of a runtime off its object",
    () => Reflect.apply(runtime.execute, undefined, [{ name: "weather" }]),
    /was detached from/u,
    /runtime\.execute/u,
  ],
];

describe("code in another library's style is refused with a hint", () => {
  test.each(REFUSED)("%s", async (_title, attempt, message, hint) => {
    const error: unknown = await (async () => attempt())().then(
      () => "it was accepted",
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ToolError);
    expect((error as ToolError).message).toMatch(message);
    if (hint !== undefined) expect((error as ToolError).hint).toMatch(hint);
  });
});

const RESULTS: readonly (readonly [title: string, call: object, hint: RegExp])[] = [
  ["toolName and args", { toolName: "weather", args: {} }, /"name" in place of "toolName"/u],
  ["args", { name: "weather", args: {} }, /"input"/u],
  ["a promise", Promise.resolve({ name: "weather" }), /put await before it/u],
];

describe("a call with another library's field names fails with a hint", () => {
  test.each(RESULTS)("%s", async (_title, call, hint) => {
    const { error } = await runtime.execute(call as never);
    expect(error?.code).toBe("invalid_call");
    expect(error?.hint).toMatch(hint);
  });
});

describe("an answer that is not JSON fails with a hint", () => {
  test.each([
    ["a Response", () => new Response("x"), /await response\.json\(\)/u],
    ["a stream", () => new ReadableStream(), /Read it to its end/u],
  ] as const)("%s", async (_title, execute, hint) => {
    const tool = defineTool({ ...fields, execute: execute as never });
    const result: ToolResult = await createRuntime({ tools: [tool] }).execute({ name: "weather" });
    expect(result.error?.code).toBe("not_json");
    expect(result.error?.hint).toMatch(hint);
  });
});

describe("an MCP result returned by a handler is kept as JSON, with a warning that says what to return", () => {
  const text = { type: "text", text: "It rains." };
  const warned = async (execute: () => unknown): Promise<boolean> => {
    const tool = defineTool({ ...fields, execute });
    const { warnings } = await createRuntime({ tools: [tool] }).execute({ name: "weather" });
    return warnings.some((warning) => warning.includes("new ToolOutput({ content, output })"));
  };

  test.each([
    { content: [text] },
    { content: [text], isError: true },
    { content: [{ type: "image", data: "", mimeType: "image/png" }], structuredContent: {} },
  ])("for %j", async (answer) => expect(await warned(() => answer)).toBe(true));

  test.each([
    { content: [] },
    { content: "text" },
    { content: [{ type: "paragraph" }] },
    { role: "assistant", content: [text] },
    [text],
    new ToolOutput({ content: [text as never], output: { content: [text] } }),
  ])("but not for %j", async (answer) => expect(await warned(() => answer)).toBe(false));
});

describe("a content part in MCP's form is refused with the form to write", () => {
  test.each([
    [{ type: "image", data: "", mimeType: "image/png" }, /"mediaType" in place of "mimeType"/u],
    [{ type: "audio", data: "", mimeType: "audio/wav" }, /"mediaType" in place of "mimeType"/u],
    [{ type: "resource", resource: { uri: "garden://plan", text: "roses" } }, /type: "file", uri/u],
    [{ type: "resource_link", uri: "garden://plan", name: "plan" }, /type: "file", uri/u],
  ] as const)("%j", async (part, hint) => {
    const tool = defineTool({ ...fields, execute: () => new ToolOutput({ content: [part as never] }) });
    const { error } = await createRuntime({ tools: [tool] }).execute({ name: "weather" });
    expect(error?.code).toBe("not_json");
    expect(error?.operatorHint).toMatch(hint);
  });
});

test("new ToolError with an unknown code, or with a message alone, throws an error that says so", () => {
  const own = (): unknown => new ToolError("my_code" as never, "It broke.");
  expect(own).toThrow(/^ToolError has no code "my_code"\. Use "execution_failed" for a handler that failed/u);
  expect(() => new ToolError("It broke." as never, undefined as never)).toThrow(/takes a message as a string, not undefined/u);
});

describe("a schema is distinguished from an object of properties", () => {
  test.each([{ title: "string" }, { description: "object" }, { items: { type: "string" } }, { default: { type: "array" } }])(
    "%j is a schema",
    (inputSchema) => {
      expect(defineTool({ ...fields, inputSchema }).name).toBe("weather");
    },
  );

  test.each([{ title: { type: "string" }, format: { type: "number" } }, { description: { type: "string" } }])(
    "%j has properties where keywords are expected",
    (inputSchema) => expect(() => defineTool({ ...fields, inputSchema: inputSchema as never })).toThrow(/looks like a property name/u),
  );
});
