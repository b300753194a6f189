/** Keyed requests whose session begins between the look at it and the work. */
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
