/** The files that tools and models answer with (seed 001): kept by their content, an address in their place, and never base64 where a model reads text. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { artifactUri, type ArtifactStore } from "../../src/core/artifact.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { resultText, type ResultFields, type ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { attachArtifacts } from "../../src/session/attach-artifacts.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { withSuccessShape } from "../../src/registry/success-shape.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { folderArtifacts } from "../../src/store/folder-artifacts.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { artifactStoreContract } from "../../src/testing/artifact-store-contract.ts";
import { fakePorts, type FakePorts } from "../../src/testing/fake-ports.ts";
import { toAnthropicMessages } from "../../src/wire/anthropic-conversation.ts";
import { toOpenAiMessages } from "../../src/wire/openai-conversation.ts";

/** A whole PNG file of one pixel, larger than any short text that is left as it is. */
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const PNG_ID = "6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0";
const WAV = Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(200, 3)]).toString("base64");
const ZIP = Buffer.concat([Buffer.from("PK\u0003\u0004"), Buffer.alloc(300, 9)]).toString("base64");
const base64 = PNG.toString("base64");
const pngUrl = `data:image/png;base64,${base64}`;

const answering = (name: string, answer: Tool["execute"] & {}, more: Partial<Tool> = {}): Tool => ({
  name,
  description: `Answers ${name}.`,
  inputSchema: { type: "object" },
  effects: { reads: [] },
  execute: answer,
  ...more,
});

const TOOLS = [
  answering("chart", () => ({ title: "Rain", url: pngUrl, same: [pngUrl] })),
  answering("photo", () => new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data: base64 }] })),
  answering(
    "mixed",
    () =>
      new ToolOutput({
        content: [
          { type: "text", text: `a ![x](${pngUrl})` },
          { type: "audio", mediaType: "audio/wav", data: WAV },
          { type: "file", uri: `data:application/zip;base64,${ZIP}`, mediaType: "application/zip", name: "all.zip" },
          { type: "file", uri: "https://example.org/a.pdf", mediaType: "application/pdf" },
        ],
      }),
  ),
  answering("plain", () => ({ words: "data: is a word, base64, too" })),
];

function opened(options: RuntimeOptions): Runtime {
  const runtime = createRuntime({ ports: fakePorts(), tools: TOOLS, ...options });
  onTestFinished(async () => void (await runtime.close()));
  return runtime;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "haft-artifacts-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test.each(artifactStoreContract)("F1.19 a folder keeps the contract of artifacts: $title", async ({ run }) => {
  await run(folderArtifacts({ path: join(folder(), "made", "when needed") }));
});

describe("F1.19 with a place for artifacts", () => {
  test("an image that comes as a data URL is stored and its URL is rewritten, in the output, the content and the log", async () => {
    const store = memoryStore();
    const session = opened({ store, artifacts: store.artifacts }).session("s");
    const result = await session.execute({ name: "chart", input: {} });
    const address = artifactUri(PNG_ID);

    expect(result.output).toEqual({ title: "Rain", url: address, same: [address] });
    expect(resultText(result)).toBe(`{"title":"Rain","url":"${address}","same":["${address}"]}\n[file image/png, 70 bytes, ${address}]`);
    expect(await store.artifacts.get(PNG_ID)).toEqual({ id: PNG_ID, mediaType: "image/png", data: base64 });
    expect(JSON.stringify((await store.read("s")).events)).not.toContain(base64);
  });

  test("images, sounds and files of the content become addresses with name, type and size; links stay as they are", async () => {
    const store = memoryStore();
    const runtime = opened({ store, artifacts: store.artifacts });
    const { content = [] } = await runtime.session().execute({ name: "mixed", input: {} });

    expect(content.map((part) => (part.type === "file" ? [part.mediaType, part.name, part.bytes, part.uri.slice(0, 9)] : part))).toEqual([
      { type: "text", text: `a ![x](${artifactUri(PNG_ID)})` },
      ["audio/wav", undefined, 204, "artifact:"],
      ["application/zip", "all.zip", 304, "artifact:"],
      ["application/pdf", undefined, undefined, "https://e"],
      ["image/png", undefined, 70, "artifact:"],
    ]);
    const zip = content[2];
    const id = zip?.type === "file" ? zip.uri.slice("artifact:".length) : "";
    expect((await store.artifacts.get(id))?.data).toBe(ZIP);
  });

  test("an answer without files is the same as without artifacts", async () => {
    const [one, other] = [opened({}), opened({ artifacts: memoryStore().artifacts })];
    const call = { name: "plain", input: {} };
    expect(await other.execute(call)).toEqual({ ...(await one.execute(call)), callId: expect.any(String), durationMs: expect.any(Number) });
  });

  test("a loop gives its model the image behind its address, in the request alone", async () => {
    const store = memoryStore();
    const runtime = opened({ store, artifacts: store.artifacts });
    const session = runtime.session("s");
    const model = scriptedModel([{ calls: [{ name: "photo", input: {} }] }, { text: "One pixel." }]);
    const { text } = await createLoop({ session, model }).run("Show me.");

    expect(text).toBe("One pixel.");
    const asked = model.requests.at(-1)?.messages ?? [];
    expect(JSON.stringify(toAnthropicMessages(asked).messages)).toContain(`"data":"${base64}"`);
    expect(toOpenAiMessages(asked).messages.find(({ role }) => role === "tool")).toMatchObject({
      content: expect.not.stringContaining(base64),
    });
    expect(JSON.stringify((await store.read("s")).events)).not.toContain(base64);
    // The next request costs what is new in it: a message that was attached is the same object.
    const again = await attachArtifacts(session.messages(), store.artifacts);
    expect((await attachArtifacts(session.messages(), store.artifacts))[2]).toEqual(again[2]);
  });

  test("a loop whose store does not answer goes on without the files after 10 s, and can be cancelled before", async () => {
    const ports = fakePorts();
    const never = (): Promise<never> => new Promise(() => {});
    const artifacts = { ...memoryStore().artifacts, get: never };
    const runtime = opened({ ports, artifacts });
    const model = scriptedModel([{ calls: [{ name: "photo", input: {} }] }, { text: "An address." }]);
    const answer = createLoop({ session: runtime.session(), model }).run("Show me.");
    await ports.clock.advance(9_999);
    expect(model.requests).toHaveLength(1);
    await ports.clock.advance(1);
    expect(await answer).toMatchObject({ text: "An address." });
    expect(ports.log.lines.filter(({ message }) => message.includes("did not answer in time"))).toHaveLength(1);

    const controller = new AbortController();
    const again = scriptedModel([{ calls: [{ name: "photo", input: {} }] }, { text: "An address." }]);
    const cancelled = createLoop({ session: runtime.session(), model: again }).run("Show me.", { signal: controller.signal });
    await ports.clock.advance(5);
    controller.abort();
    expect(await cancelled).toMatchObject({ reason: "cancelled" });
  });

  test("an image that a provider made is stored, its own form too, and goes back to the provider as it came", async () => {
    const store = memoryStore();
    const session = opened({ store, artifacts: store.artifacts }).session("s");
    const blocks = [{ type: "image_generation_call", id: "ig_1", result: base64 }];
    const said = {
      content: [{ type: "image", mediaType: "image/png", data: base64 }],
      native: { format: "openai-responses", blocks },
    } as const;
    await session.turn((turn) => turn.round().end({ ...said, finish: "stop", usage: { inputTokens: 1, outputTokens: 1 } }));

    expect(JSON.stringify((await store.read("s")).events)).not.toContain(base64);
    const [message] = await attachArtifacts(session.messages(), store.artifacts);
    expect(message).toMatchObject({ native: { blocks }, content: [{ type: "file" }, { type: "image", data: base64 }] });
  });

  test("what was kept is there after a restart, also for a fork, and a fork of it refers to the same bytes", async () => {
    const path = join(folder(), "sessions.db");
    const first = sqliteStore({ path });
    const one = createRuntime({ tools: TOOLS, store: first, artifacts: first.artifacts });
    await one.session("s").execute({ name: "photo", input: {} });
    await one.close();

    const store = sqliteStore({ path });
    const runtime = createRuntime({ tools: TOOLS, store, artifacts: store.artifacts });
    const fork = (await runtime.resume("s")).fork();
    const [, result] = await attachArtifacts(fork.messages(), store.artifacts);
    expect(result).toMatchObject({
      result: {
        content: [
          { type: "file", uri: artifactUri(PNG_ID) },
          { type: "image", data: base64 },
        ],
      },
    });
    await runtime.close();
  });

  test("the files of an output whose tool has content of its own are kept, and not shown", async () => {
    const both = answering("both", () => new ToolOutput({ output: { url: pngUrl }, content: [{ type: "text", text: "Saved." }] }));
    const store = memoryStore();
    const { output, content } = await opened({ tools: [both], artifacts: store.artifacts }).execute({ name: "both", input: {} });
    expect({ output, content }).toEqual({ output: { url: artifactUri(PNG_ID) }, content: [{ type: "text", text: "Saved." }] });
    expect(await store.artifacts.get(PNG_ID)).toMatchObject({ data: base64 });
  });

  test("a provider's own message whose image is gone is sent in our words, as no provider takes a mark for an image", async () => {
    const store = memoryStore();
    const session = opened({ artifacts: store.artifacts }).session("s");
    const native = { format: "p", blocks: [{ inlineData: { mimeType: "image/png", data: base64 } }] };
    const made = { text: "Here.", media: [{ type: "image", mediaType: "image/png", data: base64 }], native } as const;
    const model = scriptedModel([made, { text: "Yes." }]);
    await createLoop({ session, model }).run("Draw.");
    await store.artifacts.prune({ before: Infinity });
    await createLoop({ session, model }).run("Is it good?");
    const said = model.requests.at(-1)?.messages.find(({ role }) => role === "assistant");
    expect(said).toMatchObject({ content: [{ text: "Here." }, { type: "file", uri: artifactUri(PNG_ID) }] });
    expect(said).not.toHaveProperty("native");
  });

  test("an image without bytes leaves the provider's own message as it is", async () => {
    const store = memoryStore();
    const session = opened({ store, artifacts: store.artifacts }).session("s");
    const native = { format: "p", blocks: [{ text: "Here is a picture." }] };
    const model = scriptedModel([{ text: "Here.", media: [{ type: "image", mediaType: "image/png", data: "" }], native }]);
    await createLoop({ session, model }).run("Draw.");
    expect(session.messages().at(-1)).toMatchObject({ native });
  });

  test("an image of more bytes than every provider takes stays an address", async () => {
    const large = Buffer.concat([PNG, Buffer.alloc(4_000_000)]).toString("base64");
    const shot = answering("shot", () => new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data: large }] }));
    const store = memoryStore();
    const session = opened({ tools: [shot], artifacts: store.artifacts }).session("s");
    await session.execute({ name: "shot", input: {} });
    expect(JSON.stringify(await attachArtifacts(session.messages(), store.artifacts))).not.toContain(large);
  });

  test("a simulation stores nothing and shows what it would", async () => {
    const store = memoryStore();
    const { results } = await opened({ store, artifacts: store.artifacts })
      .session()
      .simulate([{ name: "photo", input: {} }]);
    expect(results[0]?.content).toEqual([{ type: "image", mediaType: "image/png", data: base64 }]);
    expect(await store.artifacts.get(PNG_ID)).toBeUndefined();
  });

  test("a place that cannot be written loses nothing: the answer stays whole, with a warning, and no base64 is text", async () => {
    const full: ArtifactStore = {
      put: () => Promise.reject(new Error("no space left on device")),
      get: () => Promise.resolve(undefined),
      prune: () => Promise.resolve(0),
    };
    const result = await opened({ artifacts: full }).session().execute({ name: "chart", input: {} });
    expect([result.status, result.output]).toEqual(["ok", { title: "Rain", url: pngUrl, same: [pngUrl] }]);
    expect(result.warnings).toEqual([expect.stringContaining("no space left on device")]);
    expect(resultText(result)).not.toContain(base64);
  });

  describe("that does not answer", () => {
    const partial = answering("partial", (_, context) => (context.partial({ url: pngUrl }), new Promise(() => {})), {
      timeoutMs: 500,
      maxAttempts: 1,
    });
    const chart = answering("chart", () => ({ url: pngUrl }), { deadlineMs: 2_000 });
    const photo = answering("photo", () => ({ url: pngUrl }), { deadlineMs: 0 });
    const silent = (): { readonly runtime: Runtime; readonly ports: FakePorts } => {
      const ports = fakePorts();
      const never = (): Promise<never> => new Promise(() => {});
      const artifacts = { put: never, get: never, prune: never };
      return { ports, runtime: opened({ ports, tools: [partial, chart, photo], artifacts }) };
    };

    test.each([
      ["chart", 2_000, "ok"],
      ["photo", 10_000, "ok"],
      ["partial", 10_500, "error"],
    ])("a call of %s ends after %d ms, with its files", async (name, durationMs, status) => {
      const { runtime, ports } = silent();
      const pending = runtime.session().execute({ name });
      await ports.clock.advance(durationMs);
      expect(await pending).toMatchObject({ status, durationMs, output: { url: pngUrl } });
    });

    test("a call that is cancelled and a runtime that is closed end at once", async () => {
      const controller = new AbortController();
      const { runtime, ports } = silent();
      const calls = ["chart", "photo"].map((name) =>
        runtime.session(name).execute({ name }, name === "chart" ? { signal: controller.signal } : {}),
      );
      await ports.clock.advance(5);
      controller.abort();
      await runtime.close();
      expect((await Promise.all(calls)).map(({ status, durationMs }) => [status, durationMs])).toEqual([
        ["cancelled", 5],
        ["cancelled", 5],
      ]);
    });

    test("a round ends after ten seconds, with the message as it came", async () => {
      const { runtime, ports } = silent();
      const session = runtime.session();
      const content = [{ type: "image", mediaType: "image/png", data: base64 }] as const;
      const ended = session.turn((turn) => turn.round().end({ content, finish: "stop", usage: { inputTokens: 0, outputTokens: 0 } }));
      await ports.clock.advance(10_000);
      await ended;
      expect(session.messages()).toMatchObject([{ role: "assistant", content }]);
    });
  });

  test("a file of the folder that was changed is refused, and the model is asked without it", async () => {
    const path = folder();
    const artifacts = folderArtifacts({ path });
    const session = opened({ artifacts }).session();
    await session.execute({ name: "photo", input: {} });
    expect(readFileSync(join(path, PNG_ID))).toEqual(PNG);
    writeFileSync(join(path, PNG_ID), "other");
    await expect(artifacts.get(PNG_ID)).rejects.toMatchObject({ code: "corrupt_record" });
    const model = scriptedModel([{ text: "Nothing to see." }]);
    expect((await createLoop({ session, model }).run("And?")).text).toBe("Nothing to see.");
  });
});

describe("F1.19 without a place for artifacts", () => {
  test("false puts the type and size in the place of every file: no base64 in output, content or log", async () => {
    const store = memoryStore();
    const session = opened({ store, artifacts: false }).session("s");
    const [chart, mixed] = await session.execute([
      { name: "chart", input: {} },
      { name: "mixed", input: {} },
    ]);
    expect(chart).toMatchObject({ output: { title: "Rain", url: "[file image/png, 70 bytes]", same: ["[file image/png, 70 bytes]"] } });
    expect(mixed?.content?.map((part) => (part.type === "text" ? part.text : part.type))).toEqual([
      "a ![x]([file image/png, 70 bytes])",
      "[file audio/wav, 204 bytes]",
      "[file all.zip: application/zip, 304 bytes]",
      "file",
    ]);
    const log = JSON.stringify((await store.read("s")).events);
    for (const bytes of [base64, WAV, ZIP]) expect(log).not.toContain(bytes);
  });

  test("a tool that says that it failed shows its model no base64 either", async () => {
    const failing = withSuccessShape(answering("shot", () => ({ success: false, error: "No page.", screen: pngUrl })));
    const result = await opened({ tools: [failing] })
      .session()
      .execute({ name: "shot", input: {} });
    expect(resultText(result)).toBe('{"success":false,"error":"No page.","screen":"[file image/png, 70 bytes]"}');
  });

  test("what is no place is refused at once", () => {
    for (const wrong of [true, "store", {}, { put: 1 }])
      expect(() => createRuntime({ artifacts: wrong as unknown as ArtifactStore })).toThrow(/The option "artifacts" of createRuntime\(\)/u);
    expect(() => folderArtifacts({ path: "" })).toThrow("path of folderArtifacts()");
  });
});

describe("F1.19 the files that an afterCall hook adds", () => {
  const image = { type: "image", mediaType: "image/png", data: base64 } as const;
  const changes: Readonly<Record<string, Partial<ResultFields>>> = {
    "as a data URL of the output": { output: { url: pngUrl } },
    "as a part of the content": { content: [image] },
    "as a data URL in the content": { content: [{ type: "text", text: `a ${pngUrl}` }] },
  };
  const run = async (change: Partial<ResultFields>, artifacts: RuntimeOptions["artifacts"]): Promise<string> => {
    const hooks = [{ name: "adds", afterCall: (result: ToolResult) => ({ ...result, ...change }) }];
    const session = opened({ hooks, ...(artifacts === undefined ? {} : { artifacts }) }).session();
    const result = await session.execute({ name: "plain", input: {} });
    expect(resultText(result)).not.toContain(base64);
    return JSON.stringify(session.log);
  };

  test.each(Object.entries(changes))("%s are kept, left out or shown as those of a tool", async (_, change) => {
    const { artifacts } = memoryStore();
    expect(await run(change, artifacts)).not.toContain(base64);
    expect(await artifacts.get(PNG_ID)).toMatchObject({ data: base64 });
    expect(await run(change, false)).not.toContain(base64);
    expect(await run(change, undefined)).toContain(`"type":"image","mediaType":"image/png","data":"${base64}"`);
  });

  const redacts = [
    { name: "redacts", afterCall: (result: ToolResult) => ({ ...result, output: { ...(result.output as object), password: "***" } }) },
  ];
  const answers: Readonly<Record<string, () => unknown>> = {
    "a data URL": () => ({ password: "hunter2", url: pngUrl }),
    "nothing but words": () => ({ password: "hunter2" }),
    "content that repeats it": () =>
      new ToolOutput({
        output: { password: "hunter2" },
        content: [{ type: "text", text: JSON.stringify({ password: "hunter2" }, null, 2) }, image],
      }),
  };
  const places = { store: memoryStore().artifacts, none: false, log: undefined } as const;

  test.each(Object.keys(answers).flatMap((answer) => Object.keys(places).map((place) => [answer, place])))(
    "of an output with %s is redacted in its content as well, and its files stay (place: %s)",
    async (answer, place) => {
      const artifacts = places[place as keyof typeof places];
      const tools = [answering("secret", answers[answer] ?? expect.fail())];
      const session = opened({ hooks: redacts, tools, ...(artifacts === undefined ? {} : { artifacts }) }).session();
      const result = await session.execute({ name: "secret", input: {} });
      expect(JSON.stringify(session.log)).not.toContain("hunter2");
      expect(resultText(result)).toContain("***");
      const files = (result.content ?? []).filter(({ type }) => type !== "text");
      expect(files).toHaveLength(answer === "nothing but words" || artifacts === false ? 0 : 1);
    },
  );

  test("stay in the log where the place for artifacts does not answer, and a call that is cancelled meanwhile ends without them", async () => {
    const never = (): Promise<never> => new Promise(() => {});
    for (const cancels of [false, true]) {
      const ports = fakePorts();
      const controller = new AbortController();
      const hooks = [{ name: "adds", afterCall: (result: ToolResult) => ({ ...result, content: [image] }) }];
      const runtime = opened({ ports, hooks, artifacts: { put: never, get: never, prune: never } });
      const pending = runtime.session().execute({ name: "plain", input: {} }, { signal: controller.signal });
      await ports.clock.advance(5);
      if (cancels) controller.abort();
      else await ports.clock.advance(9_995);
      expect(await pending).toMatchObject(cancels ? { status: "cancelled", durationMs: 5 } : { status: "ok", content: [image] });
    }
  });
});

describe("F1.19 issue 18.7 the output that a cancelled call had so far", () => {
  async function cut(options: RuntimeOptions) {
    const controller = new AbortController();
    const slow = answering("slow", (_input, { partial }) => {
      partial({ page: 1, url: pngUrl });
      controller.abort();
      return new Promise(() => {});
    });
    const runtime = opened({ ...options, tools: [slow] });
    const session = runtime.session();
    const result = await session.execute({ name: "slow" }, { signal: controller.signal });
    expect(result.status).toBe("cancelled");
    expect(resultText(result)).not.toContain(base64);
    return { result, log: JSON.stringify(session.log) };
  }

  test("has addresses in place of its files, which are kept", async () => {
    const { artifacts } = memoryStore();
    const { result, log } = await cut({ artifacts });
    expect(result.output).toEqual({ page: 1, url: artifactUri(PNG_ID) });
    expect(result.content?.at(-1)).toEqual({ type: "file", uri: artifactUri(PNG_ID), mediaType: "image/png", bytes: PNG.length });
    expect(log).not.toContain(base64);
    expect((await artifacts.get(PNG_ID))?.data).toBe(base64);
  });

  test("has types and sizes where files are to be dropped", async () => {
    const { result, log } = await cut({ artifacts: false });
    expect(result.output).toEqual({ page: 1, url: expect.stringContaining("image/png") });
    expect(log).not.toContain(base64);
  });

  test("shows the images as images where nothing keeps them, and where they cannot be kept", async () => {
    const image = { type: "image", mediaType: "image/png", data: base64 };
    expect((await cut({})).result.content).toContainEqual(image);
    const { artifacts } = memoryStore();
    const broken: ArtifactStore = {
      put: () => Promise.reject(new Error("the disk is full")),
      get: (id) => artifacts.get(id),
      prune: (before) => artifacts.prune(before),
    };
    expect((await cut({ artifacts: broken })).result.content).toContainEqual(image);
  });
});
