/** Of several tools of one name, a request names the same ones in its history as it offers. */
import { describe, expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Model } from "../../src/core/model.ts";
import { readEvent } from "../../src/core/recording/read-event.ts";
import type { Tool } from "../../src/core/tool.ts";
import { modelTools } from "../../src/compose/prompt/model-tools.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import { PROVIDERS } from "../../src/model/providers.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import { schemaFingerprint } from "../../src/schema/fingerprint.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { providerName } from "../../src/wire/provider-name.ts";
import { TEXT_FORMATS, textFormat } from "../../src/wire/text/formats.ts";
import { KEY, QUESTION, hasty, listen, serve } from "../model/listen.ts";
import { FORMATS, NAMES } from "../model/served-providers.ts";

function get(key: string, more: Partial<Tool> = {}): Tool {
  const inputSchema = { type: "object", properties: { [key]: { type: "string" } }, required: [key], additionalProperties: false };
  return { name: "get", description: `Gets by ${key}.`, inputSchema, effects: { reads: ["shop"] }, execute: () => "got", ...more };
}

const BY_ID = get("id");
const BY_SIZE = get("size");

/** A store as another process finds it. */
function storeOf(log: readonly SessionEvent[]): ReturnType<typeof memoryStore> {
  const store = memoryStore();
  store.create("s", { at: 0, durability: "sync" }).append(log.map((event) => readEvent(JSON.parse(JSON.stringify(event)), event.type)));
  return store;
}

function shop(tools: readonly Tool[], store = memoryStore()): Runtime {
  return createRuntime({ store, toolsets: [{ name: "shop", overloads: true, tools }] });
}

const fingerprint = ({ inputSchema }: Tool): string => schemaFingerprint(inputSchema);
const nameOf = (tool: Tool): string => providerName("shop::get", fingerprint(tool));
const CALLS = [
  { name: nameOf(BY_ID), input: { id: "a" } },
  { name: nameOf(BY_SIZE), input: { size: "b", run_in_background: false } },
];
const ANSWER = { text: "Here." };

/** Every name under this value, wherever the provider has them; no schema or input here has such a key. */
function namesIn(value: JsonValue | undefined): readonly string[] {
  if (isJsonArray(value)) return value.flatMap(namesIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    (key === "name" || key === "tool_name") && typeof item === "string" ? [item] : namesIn(item),
  );
}

const namesOfAll = (tools: readonly { readonly name: string }[]): ReadonlySet<string> => new Set(tools.map(({ name }) => name));
const messagesOf = ({ messages, contents, input }: JsonObject): JsonValue => messages ?? contents ?? input ?? [];

function named(body: JsonObject): { readonly offered: readonly string[]; readonly called: readonly string[] } {
  return { offered: namesIn(body["tools"] ?? body["toolConfig"]), called: namesIn(messagesOf(body)) };
}

describe.each(NAMES)("requests to %s with overloads", (name) => {
  async function serving(): Promise<{ readonly model: Model; readonly bodies: () => readonly JsonObject[] }> {
    const server = await serve({ format: FORMATS[name], script: [{ calls: CALLS }, ANSWER], key: KEY });
    const { ports } = hasty();
    const model = modelFrom({ provider: name, model: "some-model", baseUrl: server.url, apiKey: KEY, ports }, { environment: {} });
    return {
      model,
      bodies: () => {
        expect(server.requests.map(({ refused }) => refused)).toEqual(server.requests.map(() => undefined));
        return server.requests.map(({ body }) => body);
      },
    };
  }

  test("name calls like the offered tools, in a loop, after a resume and in a fork", async () => {
    const { model, bodies } = await serving();
    const first = shop([BY_ID, BY_SIZE]).session("s");
    await createLoop({ model, session: first, offerBackground: true }).run("Get.");
    const session = await shop([BY_SIZE, BY_ID], storeOf(first.log)).resume("s", { takeOver: true });
    await createLoop({ model, session }).run("And?");
    await createLoop({ model, session: session.fork() }).run("And?");
    const later = bodies().slice(1).map(named);
    expect(later.length).toBe(3);
    for (const { offered, called } of later) {
      expect(new Set(called)).toEqual(namesOfAll(CALLS));
      expect(offered).toEqual(expect.arrayContaining([...called]));
    }
  });

  test("keep their beginning when tools are added and removed", async () => {
    const { model, bodies } = await serving();
    const runtime = shop([BY_ID, BY_SIZE]);
    const session = runtime.session("s");
    const loop = createLoop({ model, session });
    await loop.run("Get.");
    runtime.registry.unregister("shop::get");
    runtime.registry.register(BY_ID, "shop");
    await session.execute({ name: "shop::get", input: { id: "c" } });
    await loop.run("And?");
    runtime.registry.register(BY_SIZE, "shop", { overload: true });
    await loop.run("And?");
    const said = bodies().map((body) => messagesOf(body));
    const began = said.map((messages) => (isJsonArray(messages) ? messages.map((message) => JSON.stringify(message)) : []));
    for (const [index, messages] of began.entries()) expect(began[index + 1]?.slice(0, messages.length) ?? messages).toEqual(messages);
    expect(new Set(bodies().map(named).at(-1)?.called)).toEqual(new Set([...namesOfAll(CALLS), "shop__get"]));
  });

  test("name the results of a program's own loop like the calls", async () => {
    const { model, bodies } = await serving();
    const { registry } = shop([BY_ID, BY_SIZE]);
    const { reply } = await listen(model, { ...QUESTION, tools: modelTools(registry) });
    const session = shop([BY_ID, BY_SIZE]).session("s");
    const calls = reply?.calls ?? [];
    const results = await session.execute(calls);
    expect(results.map(({ status }) => status)).toEqual(["ok", "ok"]);
    const answers = results.map((result, index) => ({ name: result.name, ...calls[index], result }));
    const { format } = PROVIDERS[name];
    const written = namesIn(format().encodeResults(answers, calls));
    expect(written).toEqual(written.length === 0 ? [] : CALLS.map((call) => call.name)); // some providers know answers by their ids alone
    expect(bodies().length).toBe(1);
  });
});

test.each([...TEXT_FORMATS.keys()])("a model with the text format %s sees its calls under the names of the offered tools", async (name) => {
  const format = textFormat(name);
  const names = [BY_ID, BY_SIZE].map((tool) => format.nameOf({ name: "shop::get", fingerprint: fingerprint(tool) }));
  const calls = CALLS.map(({ input }, index) => ({ id: `c${index}`, name: names[index] ?? "", input }));
  const scripted = scriptedModel((_request, index) => ({ text: index === 0 ? format.writeCalls(calls) : "Here." }));
  const session = shop([BY_ID, BY_SIZE]).session("s");
  await createLoop({ model: textToolsModel(scripted, { format }), session, offerBackground: true }).run("Get.");
  const [, request] = scripted.requests;
  const history = JSON.stringify(request?.messages);
  for (const offered of names) expect([request?.system?.includes(offered), history.includes(offered)]).toEqual([true, true]);
});

test("a call message has the fingerprint of its tool while other tools of its name are offered", async () => {
  const blocked = get("colour", { enabled: false });
  const runtime = shop([BY_ID, blocked]);
  const session = runtime.session("s");
  const call = (input: JsonObject | string): Promise<unknown> => session.execute({ name: "shop::get", input });
  await call({ id: "a" });
  runtime.registry.register(BY_SIZE, "shop", { overload: true });
  await call({ size: "b" });
  await call('{"id": "c",}');
  await session.execute({ name: "shop::got", input: {} });
  const overloads = session.messages().flatMap((message) => (message.role === "call" ? [message.overload] : []));
  expect(overloads).toEqual([undefined, fingerprint(BY_SIZE), fingerprint(BY_ID), undefined]);
});
