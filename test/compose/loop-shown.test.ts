/** What the model did not see did not happen for the model: results of messages that came to nothing, and those left out of its history. */
import fc from "fast-check";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolOutput } from "../../src/core/content.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { Model, ModelCall, ModelEvent } from "../../src/core/model.ts";
import { resultText } from "../../src/core/result.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { MessagesOptions } from "../../src/runtime/session-messages.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { filesToolset, type FilesOptions } from "../../src/toolsets/files.ts";
import { infoToolset } from "../../src/toolsets/info.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";
import { brief, replyEnd } from "./bench-loop.ts";
import { repeated } from "../ci.ts";

type Ending = "calls" | "length" | "lost" | "taken-back";

interface Said {
  readonly call?: ModelCall;
  readonly ends?: Ending;
}

interface World {
  readonly runtime: Runtime;
  readonly requests: (readonly ModelMessage[])[];
  /** What was shown and what the file held when a call was made, by the id of the call. */
  readonly asked: Map<string, { readonly messages: readonly ModelMessage[]; readonly content: string }>;
  /** A model whose message ends, in whichever way, when what could start early has ended. */
  model(script: readonly Said[]): Model;
  readonly path: string;
}

const call = (name: string, input: ModelCall["input"] = { path: "a.md" }): ModelCall => ({ name, input, id: `id${++ids}` });
let ids = 0;
const READ = "files::read";
const write = (content: string): Said => ({ call: call("files::write", { path: "a.md", content }) });

function world(options: Partial<FilesOptions> & { readonly store?: Store; readonly toolsets?: readonly Toolset[] } = {}): World {
  const { store, toolsets = [], ...files } = options;
  const root = realpathSync(mkdtempSync(join(tmpdir(), "haft-shown-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "a.md"), "precious");
  const requests: (readonly ModelMessage[])[] = [];
  const asked: World["asked"] = new Map();
  let ended = Promise.withResolvers<void>();
  const runtime = createRuntime({
    toolsets: [filesToolset({ root, ...files }), ...toolsets],
    onEvent: (event) => event.type === "call-end" && ended.resolve(),
    ...(store === undefined ? {} : { store }),
  });
  async function* stream(said: Said | undefined): AsyncGenerator<ModelEvent> {
    if (said?.call === undefined) return yield replyEnd({ text: "Done." });
    ended = Promise.withResolvers();
    yield { type: "call-seal", index: 0, call: said.call };
    if (!/write|edit/u.test(said.call.name)) await ended.promise;
    if (said.ends === "lost") throw new Error("connection lost");
    if (said.ends === "taken-back") yield { type: "reply-void", reason: "overloaded" };
    const isWhole = (said.ends ?? "calls") === "calls";
    yield replyEnd(isWhole ? { finish: "calls", calls: [said.call] } : { finish: said.ends === "length" ? "length" : "stop" });
  }
  return {
    runtime,
    requests,
    asked,
    path: join(root, "a.md"),
    model: (script) => {
      let index = 0;
      return {
        name: "said",
        stream: (request) => {
          requests.push(request.messages);
          const said = script[index++];
          const content = readFileSync(join(root, "a.md"), "utf8");
          if (said?.call?.id !== undefined) asked.set(said.call.id, { messages: request.messages, content });
          return stream(said);
        },
      };
    },
  };
}

const text = (messages: readonly ModelMessage[]): string => JSON.stringify(messages);
/** What models are shown of the results. */
const shown = (messages: readonly ModelMessage[]): string =>
  messages.map((message) => (message.role === "result" ? resultText(message.result) : "")).join("\n");

describe("a read in a discarded message", () => {
  test.each(["length", "lost", "taken-back"] as const)("F1.33 does not allow the model to overwrite the file (%s)", async (ends) => {
    const { runtime, model, path } = world();
    const loop = createLoop({ session: runtime.session(), model: model([{ call: call(READ), ends }, write("mine"), {}, {}]) });
    const results = [...(await loop.run("read it")).results, ...(await loop.run("go on")).results];
    expect(results.at(-1)?.error?.message).toBe('"a.md" exists and was not read in this session.');
    expect(readFileSync(path, "utf8")).toBe("precious");
  });

  test.each(["length", "lost"] as const)("F1.36 is not referred to by a repeated read (%s)", async (ends) => {
    const { runtime, model, requests } = world({ unchangedReads: true });
    const loop = createLoop({ session: runtime.session(), model: model([{ call: call(READ), ends }, { call: call(READ) }, {}]) });
    await loop.run("read it");
    await loop.run("go on");
    expect(text(requests.at(-1) ?? [])).toContain("precious");
  });

  test("F1.33 I03 does not count after a crash at any later event either", async () => {
    const store = memoryStore();
    const first = world({ store });
    const session = first.runtime.session("s");
    const loop = createLoop({ session, model: first.model([{ call: call(READ), ends: "length" }]) });
    await loop.run("read it");
    const changed = session.log.findIndex(({ type }) => type === "state-change");
    for (let length = changed + 1; length <= session.length; length++) {
      const again = memoryStore();
      again.create("s", { at: 0, durability: "sync" }).append(session.log.slice(0, length));
      const { runtime } = testRuntime({ store: again, toolsets: [filesToolset({ root: join(first.path, "..") })] });
      const resumed = await runtime.resume("s", { takeOver: true });
      const { error } = await resumed.execute({ name: "files::write", input: { path: "a.md", content: "mine" } });
      expect(error?.message, `cut after ${length} events`).toBe('"a.md" exists and was not read in this session.');
    }
  });

  test("its state changes are rolled back, but not the changes of other calls", async () => {
    const seen = tool("seen", (_input, { state }) => {
      state.update("own", () => 1);
      state.update("both", () => 1);
      state.update("both", () => 2);
    });
    const other = tool("other", (_input, { state }) => state.update("both", () => 3));
    const { runtime } = testRuntime({ toolsets: [{ name: "notes", tools: [seen, other] }] });
    const session = runtime.session();
    await session.turn(async (turn) => {
      const round = turn.round();
      round.add({ name: "notes::seen" });
      await round.void("lost");
      expect([session.state("notes", "own"), session.state("notes", "both")]).toEqual([undefined, undefined]);
      const another = turn.round();
      another.add({ name: "notes::seen" });
      await turn.session.execute({ name: "notes::other" });
      await another.void("lost");
      expect([session.state("notes", "own"), session.state("notes", "both")]).toEqual([undefined, 3]);
    });
  });
});

describe("a result left out of the history", () => {
  const OLD = "was read, but the result is no longer part of the conversation.";

  test.each<readonly [string, MessagesOptions, readonly Said[]]>([
    ["maxTurns", { maxTurns: 1 }, []],
    ["maxBytes", { maxBytes: 600 }, []],
  ])("F1.33 does not allow the model to overwrite the file (%s)", async (_what, history) => {
    const { runtime, model, path } = world();
    const session = runtime.session();
    const loop = createLoop({
      session,
      history,
      model: model([{ call: call(READ) }, {}, write("mine"), {}, { call: call(READ) }, write("mine"), {}]),
    });
    await loop.run("read it");
    expect((await loop.run(`go on ${"x".repeat(600)}`)).results[0]?.error?.message).toContain(OLD);
    expect(readFileSync(path, "utf8")).toBe("precious");
    expect(brief((await loop.run("read it again")).results).at(-1)).toBe("write: Updated a.md (4 bytes).");
  });

  test("F1.36 is shown again where a later result refers to it", async () => {
    const { runtime } = world({ unchangedReads: true });
    const session = runtime.session();
    for (let turn = 0; turn < 3; turn++) await session.execute({ name: READ, input: { path: "a.md" } });
    expect(shown(session.messages()).match(/precious|is unchanged/gu)).toEqual(["precious", "is unchanged", "is unchanged"]);
    expect(shown(session.messages({ maxTurns: 2 })).match(/precious|is unchanged/gu)).toEqual(["precious", "is unchanged"]);
    expect(shown(session.messages({ maxTurns: 1 })).match(/precious|is unchanged/gu)).toEqual(["precious"]);
  });

  test("F1.7 does not count as documentation that was read", async () => {
    const guarded = tool("guarded", () => "ran", { requiresReading: true, documentation: "Mind the gap." });
    const { runtime, model } = world({ toolsets: [{ name: "t", tools: [guarded] }] });
    runtime.registry.addToolset(infoToolset());
    const info = { call: call("manual::info", { name: "t::guarded" }) };
    const run = { call: call("t::guarded", {}) };
    const session = runtime.session();
    const loop = createLoop({ session, history: { maxTurns: 1 }, model: model([info, run, {}, run, info, run, {}]) });
    expect(brief((await loop.run("one")).results)).toEqual(["info: Mind the gap.", "guarded: ran"]);
    expect(brief((await loop.run("two")).results)).toEqual(["guarded: permission_denied", "info: Mind the gap.", "guarded: ran"]);
  });

  test("F1.34 does not count as a warning that was given", async () => {
    const { runtime, path } = world({ guard: "warn" });
    const outside = join(path, "..", "..", `${path.split("/").at(-2)}-outside.md`);
    writeFileSync(outside, "outside");
    onTestFinished(() => rmSync(outside));
    const session = runtime.session();
    const read = { name: READ, input: { path: outside } };
    expect((await session.execute(read)).error?.code).toBe("permission_denied");
    const earlier = session.messages();
    expect((await session.execute(read, { shown: [] })).error?.code).toBe("permission_denied");
    expect((await session.execute(read, { shown: earlier })).error?.code).toBe("permission_denied");
    expect((await session.execute(read, { shown: session.messages() })).status).toBe("ok");
  });

  test("isShown tells a tool of any toolset whether a result is still shown, in a branch as well", async () => {
    const show = tool("show", (_input, { state, callId }) => {
      state.update("by", () => callId);
      return "shown";
    });
    const ask = tool("ask", (_input, { state, isShown }) => isShown(String(state.get("by"))));
    const { runtime } = testRuntime({ toolsets: [{ name: "t", tools: [show, ask] }] });
    const session = runtime.session();
    const asked = { name: "t::ask" };
    await session.execute({ name: "t::show" });
    const branch = session.fork();
    const history = session.messages();
    const answers = [session, branch].map(async (one) =>
      Promise.all([
        one.execute(asked),
        one.execute(asked, { shown: history }),
        one.execute(asked, { shown: history.slice(1) }),
        one.execute(asked, { shown: [] }),
      ]),
    );
    const outputs = (await Promise.all(answers)).map((results) => results.map(({ output }) => output));
    expect(outputs).toEqual([
      [true, true, true, false],
      [true, true, true, false],
    ]);
    const [, beside] = await session.execute([{ name: "t::show" }, asked], { shown: [] });
    expect(beside?.output).toBe(true);
  });

  test("a program may extend its array of shown messages and pass it again", async () => {
    const show = tool("show", (_input, { state, callId }) => state.update("by", () => callId));
    const ask = tool("ask", (_input, { state, isShown }) => isShown(String(state.get("by"))));
    const { runtime } = testRuntime({ toolsets: [{ name: "t", tools: [show, ask] }] });
    const session = runtime.session();
    await session.execute({ name: "t::show" });
    const shown: ModelMessage[] = [];
    const asked = async () => (await session.execute({ name: "t::ask" }, { shown })).output;
    expect(await asked()).toBe(false);
    shown.push(...session.messages());
    expect(await asked()).toBe(true);
  });

  test("a result that refers to a result no longer stored says so", async () => {
    const refer = tool("refer", () => new ToolOutput({ output: "as before", sameAs: "call_of_long_ago" }));
    const { runtime } = testRuntime({ tools: [refer] });
    const session = runtime.session();
    await session.execute({ name: "refer" });
    expect(text(session.messages())).toContain("it refers to an earlier result that is no longer kept");
  });
});

const STEPS = fc.array(
  fc.record({
    action: fc.constantFrom("read", "read", "part", "write", "edit", "json"),
    ends: fc.constantFrom<Ending>("calls", "calls", "calls", "length", "lost", "taken-back"),
    newTurn: fc.boolean(),
  }),
  { minLength: 3, maxLength: 14 },
);
const HISTORY = fc.constantFrom<MessagesOptions>(
  {},
  { maxTurns: 1 },
  { maxTurns: 2 },
  { maxBytes: 900 },
  { trim: { budgetBytes: 1 } },
  { maxTurns: 3, maxBytes: 1500, trim: {} },
);

test("F1.33 F1.36 a model can overwrite, and is referred to, only what it is shown, for any discarded messages and history limits", async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, HISTORY, fc.boolean(), async (steps, history, unchangedReads) => {
      const { runtime, model, requests, asked } = world({ unchangedReads });
      const session = runtime.session();
      let version = 0;
      const scripts: Said[][] = [[]];
      for (const { action, ends, newTurn } of steps) {
        if (newTurn) scripts.push([]);
        scripts.at(-1)?.push({ call: callOf(action, ++version), ends });
      }
      for (const script of scripts) {
        const loop = createLoop({ session, history, model: model([...script, {}]) });
        for (let runs = 0; runs <= script.length && (await loop.run("go on")).text !== "Done."; runs++);
      }
      for (const event of session.log) {
        if (event.type !== "call-end" || event.result.name !== "files::write" || event.result.status !== "ok") continue;
        const made = asked.get(event.result.id ?? "");
        expect(text(made?.messages ?? [])).toContain(made?.content);
      }
      for (const messages of requests)
        for (const message of messages) if (text([message]).includes("is unchanged since")) expect(text(messages)).toMatch(/ {5}\d\\t/u);
      await runtime.close();
    }),
    { numRuns: repeated(60) },
  );
});

function callOf(action: string, version: number): ModelCall {
  if (action === "read") return call(READ);
  if (action === "part") return call(READ, { path: "a.md", limit: 1 });
  if (action === "json") return call("files::json_read");
  if (action === "write") return call("files::write", { path: "a.md", content: `content${version}` });
  return call("files::edit", { path: "a.md", old: "e", new: `e` });
}
