/** Which screens are kept when a key ends, without a browser. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Connection } from "../../src/dashboard/server/connection.ts";

/** What the server answers to each key: the id of its principal, or a status. */
const answers = new Map<string, string | number>();

beforeEach(() => {
  answers.clear();
  vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => {}, removeItem: () => {} });
  vi.stubGlobal("document", { querySelector: () => null });
  vi.stubGlobal("window", { location: { origin: "http://haft.test" } });
  vi.stubGlobal("fetch", (_input: unknown, init?: RequestInit) => {
    const answer = answers.get(new Headers(init?.headers).get("authorization")?.slice("Bearer ".length) ?? "") ?? 401;
    if (typeof answer === "number")
      return Promise.resolve(Response.json({ error: { code: "denied", message: "No." } }, { status: answer }));
    return Promise.resolve(Response.json({ principal: { id: answer } }));
  });
});
afterEach(() => vi.unstubAllGlobals());

/** A page that ada's key opened, and that asks for another because it ended. */
async function endedPage(): Promise<Connection> {
  const connection = new Connection();
  await connection.setKey("ada-1");
  connection.recordPrincipal("ada-1", "ada");
  await refused(connection);
  return connection;
}

/** The server refuses a read of the key in use. */
async function refused(connection: Connection): Promise<void> {
  const key = connection.getState().key;
  if (key !== undefined) answers.delete(key);
  const stop = new AbortController();
  const reading = connection.client.call("getInfo", { signal: stop.signal }).catch(() => {});
  await vi.waitFor(() => expect(connection.getState().key).toBeUndefined());
  stop.abort();
  await reading;
}

test("after a key of another principal was used, the screens of the first principal are not restored for it", async () => {
  const connection = await endedPage();
  answers.set("grace-1", "grace").set("ada-2", "ada");
  await connection.setKey("grace-1");
  const { generation } = connection.getState();
  await refused(connection); // before the page read whose key it is
  expect(connection.getState().keepsScreens).toBe(true);
  await connection.setKey("ada-2");
  expect(connection.getState()).toMatchObject({ key: "ada-2", keepsScreens: false, generation: generation + 1 });
});

test("a late answer to an earlier key does not set the principal of the current key", async () => {
  const connection = await endedPage();
  answers.set("grace-1", "grace").set("ada-2", "ada");
  await connection.setKey("grace-1");
  connection.recordPrincipal("ada-1", "ada");
  const { generation } = connection.getState();
  await refused(connection);
  await connection.setKey("ada-2");
  expect(connection.getState().generation).toBe(generation + 1);
});

test("when the server cannot say whose key it is, typed text is retained", async () => {
  const connection = await endedPage();
  const before = connection.getState();
  answers.set("ada-2", 503);
  await connection.setKey("ada-2");
  const refusal = "The server did not say who this key belongs to (HTTP 503). Try again.";
  expect(connection.getState()).toEqual({ ...before, refusal });
  answers.set("ada-2", "ada");
  await connection.setKey("ada-2");
  expect(connection.getState()).toMatchObject({ key: "ada-2", keepsScreens: false, generation: before.generation });
});
