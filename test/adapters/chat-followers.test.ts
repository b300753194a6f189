import { createLoop, createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
import { expect, test } from "vitest";
import { ChatRuns } from "../../src/adapters/chat-runs.ts";

test("a second stream of a run goes on where the first was, and ends it", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const session = runtime.session("a");
  const runs = new ChatRuns(runtime);
  const text = "The answer is forty two.";
  const model = scriptedModel([{ text, pieceChars: 4, delayMs: 20 }]);
  runs.begin("a", session, () => createLoop({ model, session }).run("Go"));
  const read = async (onText: () => void): Promise<string> => {
    let read = "";
    for await (const news of runs.follow("a")) {
      if (news.type !== "text-delta") continue;
      read += news.delta;
      onText();
    }
    return read;
  };
  const second = Promise.withResolvers<string>();
  const first = await read(() => second.resolve(read(() => {})));
  expect(first + (await second.promise)).toBe(text);
  expect(first).not.toBe(text);
  await runtime.close();
});
