/** Requests with an `Idempotency-Key`: done once, whatever else the store forgets. */
import { createClient } from "haft/client";
import { expect, test } from "vitest";
import { TOKEN, startApi, type ApiServer } from "./api-server.ts";

const MESSAGE = { content: "It rains." };

function send(api: ApiServer, key: string): ReturnType<ApiServer["ask"]> {
  return api.ask("POST", "/v1/channels/news/messages", { body: MESSAGE, headers: { "idempotency-key": key } });
}

async function messages(api: ApiServer): Promise<number> {
  return (await api.ask("GET", "/v1/channels/news/messages")).json.messages.length;
}

test("issue 19.6 E25 a first answer is given again although the result cache has room for nothing", async () => {
  const api = await startApi({ storeOptions: { maxCacheBytes: 1 } });
  const first = await send(api, "first");
  for (let index = 0; index < 10; index++) await send(api, `other-${index}`);
  const again = await send(api, "first");
  expect({ text: again.text, replayed: again.headers.get("idempotency-replayed") }).toEqual({ text: first.text, replayed: "true" });
  const other = await api.ask("POST", "/v1/channels/news/messages", {
    body: { content: "It snows." },
    headers: { "idempotency-key": "first" },
  });
  expect({ status: other.status, code: other.json.code }).toEqual({ status: 409, code: "conflict" });
  expect(await messages(api)).toBe(11);
});

test("issue 19.6 without a store, keyed requests are answered once as well", async () => {
  const api = await startApi({ store: "none" });
  const client = createClient({ url: api.url, token: TOKEN });
  const request = { body: { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] }, idempotencyKey: "one" };
  const first = await client.call("execute", request);
  expect(await client.call("execute", request)).toEqual(first);
  expect(api.added).toEqual(["Buy milk"]);
});
