/** Keyed requests whose session begins between the look at it and the work, and those whose store cannot be reached for a while. */
import { FakeClock } from "haft/testing";
import { expect, test } from "vitest";
import { TextResponse } from "../../../src/server/http/text-response.ts";
import { KeyedAnswers } from "../../../src/server/api/requests/keyed-answers.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";

test("a request whose session is created meanwhile does not get the response to different content with its key", async () => {
  let identity: string | undefined;
  let count = 0;
  const keyed = new KeyedAnswers({
    clock: new FakeClock(),
    log: { debug() {}, warn() {} },
    ids: { next: () => `id-${++count}` },
    access: memoryStore().access,
    identityOf: () => Promise.resolve(identity),
    sessionOfAgent: () => undefined,
  });
  const send = (text: string, before: () => Promise<unknown> = () => Promise.resolve()): Promise<string> => {
    const request = { headers: new Headers({ "idempotency-key": "k1" }) };
    const read = { params: { sessionId: "trip" }, query: {}, body: { text } };
    const asked = { id: "forkSession", principal: { id: "ada" }, request, read };
    return keyed
      .answer(asked as unknown as Parameters<KeyedAnswers["answer"]>[0], async () => {
        await before();
        return new TextResponse(200, {}, text);
      })
      .then((answer) => (answer instanceof TextResponse ? answer.text : ""));
  };
  const rain = await send("It rains.", async () => {
    identity = "created";
    expect(await send("It snows.")).toBe("It snows.");
  });
  expect(rain).toBe("It rains.");
  expect(await send("It snows.")).toBe("It snows.");
});

test("E25 a request is not taken from a process whose heartbeats failed only because the store could not be reached", async () => {
  const clock = new FakeClock();
  const { access } = memoryStore();
  let isDown = false;
  const whenUp = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let count = 0;
  let works = 0;
  const open = (): KeyedAnswers =>
    new KeyedAnswers({
      clock,
      log: { debug() {}, warn() {} },
      ids: { next: () => `id-${++count}` },
      access: {
        ...access,
        beginRequest: async (request) => {
          if (isDown) await whenUp.promise; // tried again until the store is back
          return access.beginRequest(request);
        },
        holdRequest: (hold) => (isDown ? Promise.reject(new Error("the server is down")) : access.holdRequest(hold)),
      },
      identityOf: () => Promise.resolve(undefined),
      sessionOfAgent: () => undefined,
    });
  const send = (keyed: KeyedAnswers): ReturnType<KeyedAnswers["answer"]> => {
    const request = { headers: new Headers({ "idempotency-key": "k1" }) };
    const asked = { id: "forkSession", principal: { id: "ada" }, request, read: { params: {}, query: {} } };
    return keyed.answer(asked as unknown as Parameters<KeyedAnswers["answer"]>[0], async () => {
      works++;
      await gate.promise;
      return new TextResponse(200, {}, "done");
    });
  };
  const first = send(open());
  await clock.advance(100);
  const second = send(open());
  await clock.advance(1_000);
  isDown = true;
  for (let passedMs = 0; passedMs < 14_500; passedMs += 500) await clock.advance(500);
  isDown = false;
  whenUp.resolve();
  for (let passedMs = 0; passedMs < 10_000; passedMs += 100) await clock.advance(100);
  expect(works).toBe(1);
  gate.resolve();
  await first;
  for (let passedMs = 0; passedMs < 1_000; passedMs += 100) await clock.advance(100);
  const [one, other] = await Promise.all([first, second]);
  expect([one, other].map((answer) => answer instanceof TextResponse && answer.text)).toEqual(["done", "done"]);
  expect(works).toBe(1);
});
