/** `uiChatHandler` with AI SDK's own transport and reader, over HTTP. */
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { afterEach, expect, test, vi } from "vitest";
import { uiChatHandler } from "../../src/adapters/ui-stream.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { gate } from "../runtime/bench-runtime.ts";
import { Chat } from "./chat-clients.ts";
import { chatWorld } from "./chat-world.ts";
import { serveChat } from "./chat-server.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const QUESTION: UIMessage = { id: "m1", role: "user", parts: [{ type: "text", text: "Tidy up." }] };

async function world(calls: readonly { readonly name: string; readonly input?: object }[]) {
  const { runtime, session, deleted } = chatWorld();
  closing.push(() => runtime.close());
  const handler = uiChatHandler(runtime, {
    session,
    run: async (one) => {
      for (const call of calls) await one.execute({ ...call, input: { ...call.input } });
    },
  });
  const server = await serveChat(handler);
  closing.push(() => server.close());
  const transport = new DefaultChatTransport({ api: server.url });
  const send = async (messages: UIMessage[]): Promise<UIMessage> => {
    const stream: ReadableStream<UIMessageChunk> = await transport.sendMessages({
      chatId: "chat",
      messages,
      messageId: undefined,
      trigger: "submit-message",
      abortSignal: undefined,
    });
    const last = messages.at(-1);
    let read: UIMessage | undefined;
    for await (const message of readUIMessageStream({
      stream,
      ...(last?.role === "assistant" ? { message: last } : {}),
      terminateOnError: true,
    }))
      read = message;
    if (read === undefined) throw new Error("no message");
    return read;
  };
  return { send, deleted };
}

test("issue 19.3 a run is an AI SDK message, with each call as a part", async () => {
  const { send } = await world([{ name: "look" }, { name: "missing" }]);
  const { parts } = await send([QUESTION]);
  expect(parts.map((part) => ("state" in part ? [part.type, part.state] : [part.type]))).toEqual([
    ["dynamic-tool", "output-available"],
    ["dynamic-tool", "output-error"],
  ]);
  expect(parts[0]).toMatchObject({ toolName: "look", output: { found: 2 } });
});

test.each([
  [true, ["a.txt"], "output-available"],
  [false, [], "output-denied"],
])("issue 19.3 a call that waits for a person requests approval, and %s lets the run continue", async (approved, removed, state) => {
  const { send, deleted } = await world([{ name: "remove", input: { path: "a.txt" } }]);
  const asked = await send([QUESTION]);
  const [part] = asked.parts;
  if (part?.type !== "dynamic-tool" || part.state !== "approval-requested") throw new Error(JSON.stringify(asked.parts));
  expect(part.input).toEqual({ path: "a.txt" });
  expect(deleted).toEqual([]);
  const answered: UIMessage = { ...asked, parts: [{ ...part, state: "approval-responded", approval: { id: part.approval.id, approved } }] };
  const done = await send([QUESTION, answered]);
  expect(done.id).toBe(asked.id);
  expect(done.parts.map((one) => ("state" in one ? one.state : one.type))).toEqual([state]);
  expect(deleted).toEqual(removed);
});

test.each(["answered elsewhere", "answered twice", "of another conversation"])("an approval that is %s starts no run", async (when) => {
  const { runtime, session, deleted } = chatWorld();
  closing.push(() => runtime.close());
  let runs = 0;
  const run = async (one: RuntimeSession) => {
    runs++;
    await one.execute({ name: "remove", input: { path: "a.txt" } });
  };
  const handler = uiChatHandler(runtime, { session, run });
  const chat = new Chat(handler);
  await chat.sendMessage({ text: "Tidy up." });
  const id = chat.asked[0]?.approval?.id ?? "";
  const { digest = "" } = (await runtime.approvals.get(id)) ?? {};
  if (when === "answered elsewhere") await runtime.approvals.answer({ id, digest, answer: "deny" });
  await chat.addToolApprovalResponse({ id, approved: true });
  const { messages } = chat;
  if (when !== "of another conversation") await chat.sendMessage();
  if (when !== "answered elsewhere") {
    const late = new Chat(handler, when === "answered twice" ? "chat" : "other");
    late.messages = messages;
    await late.sendMessage();
    expect(late.error?.message).toContain("has no run to continue");
    if (when === "of another conversation") await chat.sendMessage();
  }
  expect([runs, await runtime.approvals.pending()]).toEqual([1, []]);
  expect(deleted).toEqual(when === "answered elsewhere" ? [] : ["a.txt"]);
});

test("a page that left before an approval request is asked when it returns, and its message starts no run", async () => {
  const { runtime, session, deleted } = chatWorld();
  closing.push(() => runtime.close());
  const go = gate();
  let runs = 0;
  const run = async (one: RuntimeSession) => {
    runs++;
    await go.promise;
    await one.execute({ name: "remove", input: { path: "a.txt" } });
  };
  const chat = new Chat(uiChatHandler(runtime, { session, run }));
  const sent = chat.sendMessage({ text: "Tidy up." });
  await vi.waitFor(() => expect(runs).toBe(1));
  await chat.stop();
  await sent;
  go.open();
  await vi.waitFor(async () => expect(await runtime.approvals.pending()).toHaveLength(1));
  await chat.sendMessage({ text: "Are you there?" });
  expect(chat.asked).toMatchObject([{ toolName: "remove", input: { path: "a.txt" } }]);
  expect(chat.error?.message).toContain("The message did not start a run");
  await chat.addToolApprovalResponse({ id: chat.asked[0]?.approval?.id ?? "", approved: true });
  await chat.sendMessage();
  expect(chat.error).toBeUndefined();
  expect(chat.calls).toMatchObject([{ state: "output-available", output: "removed" }]);
  expect([runs, deleted]).toEqual([1, ["a.txt"]]);
});

test.each(["session", "run"])("an error of %s that is not a ToolError is logged, and not sent to the client", async (where) => {
  const { log } = fakePorts();
  const { runtime, session } = chatWorld({ log });
  closing.push(() => runtime.close());
  const fails = () => {
    throw new Error("password hunter2");
  };
  const work = async () => fails();
  const chat = new Chat(uiChatHandler(runtime, where === "run" ? { session, run: work } : { session: fails, run: async () => {} }));
  await chat.sendMessage({ text: "Go on." });
  expect(chat.error?.message).toBe("The run failed.");
  expect(log.lines.map(({ message }) => message)).toEqual(["A run of a chat failed: password hunter2"]);
});

test("an error of session while a stream is resumed is not sent to the client either", async () => {
  const { log } = fakePorts();
  const { runtime, session } = chatWorld({ log });
  const [begun, go] = [gate(), gate()];
  closing.push(async () => (go.open(), await runtime.close()));
  let isLost = false;
  const handler = uiChatHandler(runtime, {
    session: (id) => {
      if (isLost) throw new Error("password hunter2");
      return session(id);
    },
    run: () => (begun.open(), go.promise),
  });
  const chat = new Chat(handler);
  const sent = chat.sendMessage({ text: "Go on." });
  await begun.promise;
  await chat.stop();
  await sent;
  isLost = true;
  await chat.resumeStream();
  expect(chat.error?.message).toBe("The run failed.");
  expect(log.lines.map(({ message }) => message)).toEqual(["A run of a chat failed: password hunter2"]);
});

test("a page that resumes its stream gets the run from its beginning, or nothing if there is none", async () => {
  const { runtime, session, deleted } = chatWorld();
  closing.push(() => runtime.close());
  const go = gate();
  const handler = uiChatHandler(runtime, {
    session,
    run: async (one) => {
      await one.execute({ name: "look" });
      await go.promise;
      await one.execute({ name: "remove", input: { path: "a.txt" } });
    },
  });
  const left = new Chat(handler);
  const sent = left.sendMessage({ text: "Tidy up." });
  await vi.waitFor(() => expect(left.calls).toMatchObject([{ state: "output-available" }]));
  await left.stop();
  await sent;
  const back = new Chat(handler);
  back.messages = left.messages.slice(0, 1); // as they were stored
  const resumed = back.resumeStream();
  await vi.waitFor(() => expect(back.calls).toMatchObject([{ state: "output-available" }]));
  go.open();
  await resumed;
  expect(back.calls.map(({ state }) => state)).toEqual(["output-available", "approval-requested"]);
  for (const { approval } of back.asked) await back.addToolApprovalResponse({ id: approval?.id ?? "", approved: true });
  await back.sendMessage();
  expect([back.calls.map(({ state }) => state), deleted]).toEqual([["output-available", "output-available"], ["a.txt"]]);
  await back.resumeStream();
  expect([back.status, back.messages.length]).toEqual(["ready", 2]);
});

test("a person who first writes another message can answer the question, where it was asked and where it is repeated", async () => {
  for (const place of [1, 3]) {
    const { runtime, session, deleted } = chatWorld();
    closing.push(() => runtime.close());
    const handler = uiChatHandler(runtime, { session, run: async (one) => one.execute({ name: "remove", input: { path: "a.txt" } }) });
    const chat = new Chat(handler);
    await chat.sendMessage({ text: "Tidy up." });
    await chat.sendMessage({ text: "What is a.txt?" });
    chat.clearError();
    const [part] = chat.messages[place]?.parts ?? [];
    if (part?.type !== "dynamic-tool" || part.state !== "approval-requested") throw new Error(JSON.stringify(chat.messages));
    await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
    await chat.sendMessage();
    expect([chat.error, chat.messages[place]?.parts, deleted]).toMatchObject([undefined, [{ state: "output-available" }], ["a.txt"]]);
  }
});
