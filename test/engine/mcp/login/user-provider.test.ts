/** What is kept of the tokens that an authorization server gave. */
import { expect, test } from "vitest";
import { memoryLoginStore } from "../../../../src/engine/mcp/login/login-store.ts";
import { UserProvider, type UserProviderOptions } from "../../../../src/engine/mcp/login/user-provider.ts";

const key = { server: "tickets", user: "ada" };

test("a new login without a refresh token does not keep that of another client, and a renewed login keeps its own", async () => {
  const store = memoryLoginStore();
  const options: UserProviderOptions = { key, store, client: {}, redirectUrl: "http://127.0.0.1/callback", now: () => 0 };
  const renewing = new UserProvider(options, { state: "a" });
  await renewing.saveTokens({ access_token: "first", token_type: "Bearer", refresh_token: "of the first client" });
  await renewing.saveTokens({ access_token: "second", token_type: "Bearer" });
  expect(await renewing.tokens()).toMatchObject({ access_token: "second", refresh_token: "of the first client" });
  const startedLogin = {
    state: "b",
    verifier: "v",
    authorizationUrl: new URL("http://127.0.0.1/auth?scope=tickets"),
    discovery: undefined,
    clientScope: "tickets",
  };
  const ending = new UserProvider({ ...options, clientScope: "tickets" }, { state: "b", startedLogin });
  await ending.saveTokens({ access_token: "third", token_type: "Bearer" });
  expect(await ending.tokens()).toEqual({ access_token: "third", token_type: "Bearer", scope: "tickets" });
});

test.each([
  ["with a line break", "two\nlines"],
  ["that is empty", ""],
  ["that is too long", "x".repeat(16_001)],
])("a token %s, which no header can carry, is refused, and earlier tokens are kept", async (_what, token) => {
  const store = memoryLoginStore();
  const provider = new UserProvider({ key, store, client: {}, redirectUrl: "http://127.0.0.1/callback", now: () => 0 }, { state: "a" });
  await provider.saveTokens({ access_token: "first", token_type: "Bearer" });
  await expect(provider.saveTokens({ access_token: token, token_type: "Bearer" })).rejects.toMatchObject({
    code: "unavailable",
    message: "The authorization server answered without a usable token.",
  });
  expect(await provider.tokens()).toMatchObject({ access_token: "first" });
});
