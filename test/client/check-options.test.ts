/** Options and inputs of the client that no request can be made of. */
import { ApiError, createClient, type ClientOptions } from "haft/client";
import { expect, test } from "vitest";

/** A client that repeats a request at once, and counts what is sent. */
function clientOf(options: Partial<ClientOptions> = {}) {
  const sent: string[] = [];
  const fetch = async (url: string | URL | Request): Promise<Response> => {
    sent.push(String(url));
    return Response.json({});
  };
  const client = createClient({ url: "http://server.example", retryDelayMs: 0, fetch, ...options });
  return { sent, client, untyped: client as unknown as { call: (id: string, input?: object) => Promise<unknown> } }; // as in JavaScript
}

test.each<[string, object, string]>([
  ["no attempt", { maxAttempts: 0 }, "createClient({ maxAttempts }) takes an integer of 1 or more, not 0."],
  ["endless attempts", { maxAttempts: Number.NaN }, "createClient({ maxAttempts }) takes an integer of 1 or more, not NaN."],
  ["attempts as text", { maxAttempts: "3" }, "takes an integer of 1 or more, not a value of type string."],
  ["a delay that is no number", { retryDelayMs: Number.NaN }, "createClient({ retryDelayMs }) takes a number of 0 or more, not NaN."],
  ["a negative delay", { retryDelayMs: -1 }, "createClient({ retryDelayMs }) takes a number of 0 or more, not -1."],
  ["a token that is null", { token: null }, "createClient({ token }) takes a string or a function, not a value of type object."],
  ["a fetch that is no function", { fetch: {} }, "createClient({ fetch }) takes a function"],
  ["an address of another protocol", { url: "ftp://server.example" }, "begins with http: or https:, not with ftp:."],
  ["an address with a query", { url: "http://server.example/?a=1" }, "without a query and without a fragment."],
])("a client with %s is refused", (_, options, message) => {
  const make = (): unknown => createClient({ url: "http://server.example", ...options });
  expect(make).toThrow(TypeError);
  expect(make).toThrow(message);
});

test.each(["http://ada:hunter2@server.example", "http://ada:hunter2@ser ver"])("the refusal of %j does not repeat its password", (url) => {
  expect(() => createClient({ url })).toThrow(/^(?!.*hunter2)createClient\(\{ url \}\) takes/u);
});

test.each<[string, string]>([
  ["a line break", "hk_secret\nmore"],
  ["a sign outside Latin 1", "hk_secret✓"],
])("a token with %s ends a call and a stream at once, with an error without the token", async (_, token) => {
  for (const given of [token, () => token]) {
    const { client, sent } = clientOf({ token: given });
    for (const failed of [client.call("listSessions"), client.follow("s").next()]) {
      await expect(failed).rejects.toBeInstanceOf(ApiError);
      await expect(failed).rejects.toThrow(/^The token of the client has characters that a header cannot have, such as a line break\.$/u);
    }
    expect(sent).toEqual([]);
  }
});

const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each<[string, string, object, string]>([
  [
    "a key that is null, which all requests would share",
    "execute",
    { idempotencyKey: null },
    "idempotencyKey must be a string of 1 to 255",
  ],
  ["a key with a line break", "execute", { idempotencyKey: "a\nb" }, "idempotencyKey must be a string of 1 to 255"],
  ["an empty key", "execute", { idempotencyKey: "" }, "idempotencyKey must be a string of 1 to 255"],
  ["a body of a GET", "listSessions", { body: {} }, "the operation takes no body"],
  ["a body with a cycle", "execute", { body: cycle, idempotencyKey: "k" }, "The body of the request cannot be sent as JSON"],
  ["a body with a BigInt", "execute", { body: { calls: 1n } }, "The body of the request cannot be sent as JSON"],
  ["a function as its body", "execute", { body: () => 1 }, "it is a value of type function"],
  ["null as its parameters", "getSession", { params: null }, "params must be an object, not null"],
  ["a signal that is none", "execute", { signal: {} }, "The signal of execute must be an AbortSignal"],
])("a request with %s is refused before anything is sent", async (_, id, input, message) => {
  const { untyped, sent } = clientOf();
  await expect(untyped.call(id, input)).rejects.toMatchObject({ name: "ApiError", status: 0, message: expect.stringContaining(message) });
  expect(sent).toEqual([]);
});

test("a token that ends with a line break, as one read from a file, is sent", async () => {
  const { client, sent } = clientOf({ token: "hk_secret\n" });
  await client.call("listSessions");
  expect(sent).toEqual(["http://server.example/v1/sessions"]);
});
