/** Calls that continue after a restart of the server: by the rules that they were made with, and those that their principal has now. */
import { createRuntime, defineTool, type Tool } from "haft";
import { createClient } from "haft/client";
import {
  Keys,
  createServer,
  openServerAccess,
  staticToken,
  type Authenticator,
  type Principal,
  type ServerAccessOptions,
} from "haft/server";
import { sqliteStore } from "haft/sqlite";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { AccessRules } from "../../../src/policy/access-rules.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

const LOCAL_TOKEN = "a-token-for-the-tests";
const QUIET = { log: { debug() {}, warn() {} } };
const ADA: Principal = { id: "token:https://login.example#ada", name: "Ada", claims: { role: "admin" }, scopes: new Set(["admin"]) };
const BOB: Principal = { id: "bob", name: "Bob", scopes: new Set(["admin"]) };

/** Knows its principals by their requests only. */
const people: Authenticator = {
  authenticate: async ({ headers }) => [ADA, BOB].find(({ name }) => headers.get("authorization") === `Bearer ${name}`),
};

/** A store, and what the tools of its servers have done. */
class World {
  readonly path = temporaryFile();
  readonly done: string[] = [];

  get tools(): readonly Tool[] {
    const remove = defineTool({
      name: "remove",
      description: "Removes.",
      effects: { writes: ["files"], destructive: true },
      execute: () => void this.done.push("remove"),
    });
    const pay = defineTool({
      name: "pay",
      description: "Does not end.",
      effects: { writes: ["bank"], external: true },
      execute: () => {
        this.done.push("pay");
        return new Promise(() => {});
      },
    });
    const look = defineTool({ name: "look", description: "Looks.", effects: { reads: ["files"] }, execute: () => 1 });
    return [remove, pay, look];
  }

  async serve({ rules = [], others = [] }: Pick<ServerAccessOptions, "rules" | "others"> = {}) {
    const store = sqliteStore({ path: this.path, synchronous: "normal" });
    const runtime = createRuntime({ tools: this.tools, store, approval: { approve: "inbox" }, ports: QUIET });
    await runtime.open();
    const keys = new Keys(store.access, systemPorts);
    const auth = await openServerAccess(
      { access: store.access, others: [staticToken({ token: LOCAL_TOKEN }), people, ...others], rules },
      systemPorts,
    );
    const server = createServer(runtime, { auth, limits: { graceMs: 10 }, ports: QUIET });
    const { url } = await server.listen({ port: 0 });
    const stop = async (): Promise<void> => {
      await server.close({ signal: AbortSignal.abort() });
      await runtime.close();
    };
    onTestFinished(stop);
    const client = (token = LOCAL_TOKEN) => createClient({ url, token, maxAttempts: 1 });
    const execute = (name: string, token?: string) =>
      client(token).call("executeInSession", { params: { sessionId: "s" }, body: { calls: [{ name }] } });
    const create = () => client().call("createSession", { body: { id: "s" } });
    const waiting = () => vi.waitFor(async () => expect(await runtime.approvals.pending()).toHaveLength(1), 20_000);
    const allow = async (): Promise<void> => {
      for (const { id, digest } of await runtime.approvals.pending()) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
    };
    return { runtime, store, keys, execute, create, waiting, allow, stop };
  }

  /** Makes a call that waits for approval, and stops its server. */
  async leaveWaiting(token: (keys: Keys) => Promise<string>, rules: ServerAccessOptions["rules"] = []): Promise<Keys> {
    const first = await this.serve({ rules });
    await first.create();
    const left = first.execute("remove", await token(first.keys)).catch(() => {}); // the server stops meanwhile
    await first.waiting();
    await first.stop();
    await left;
    return first.keys;
  }

  /** Starts the next server, allows the call, and returns its result. */
  async continueWith(options: Parameters<World["serve"]>[0], before?: (keys: Keys) => Promise<unknown>): Promise<string | undefined> {
    const next = await this.serve(options);
    await before?.(next.keys);
    await next.allow();
    await next.execute("look"); // opens the session
    const ended = next.runtime.sessions.get("s")?.history[0]?.result;
    await next.stop();
    return ended?.error?.code ?? ended?.status;
  }
}

const addKey =
  (allow?: readonly string[]) =>
  async (keys: Keys): Promise<string> =>
    (await keys.add({ name: "CI", scopes: ["execute"], ...(allow === undefined ? {} : { allow }) })).key;
const named = (name: string) => async (): Promise<string> => name;
const LOCAL_ALL = { principals: ["local"], allow: ["*"] };
const READ_ONLY = { principals: ["key:*", "CI", "bob", "token:*"], deny: ["default::remove"] };

test.each([
  ["its key has no longer the tool", addKey(), { rules: [LOCAL_ALL, READ_ONLY] }, "permission_denied"],
  ["no rule names its key any more", addKey(), { rules: [LOCAL_ALL] }, "permission_denied"],
  [
    "the rules allow its key the tool by its name",
    addKey(),
    { rules: [LOCAL_ALL, { principals: ["CI"], allow: ["default::remove"] }] },
    "ok",
  ],
  ["its key has it by its own patterns", addKey(["default::remove"]), {}, "ok"],
  ["the secret of the server has it no longer", named(LOCAL_TOKEN), { rules: [{ allow: ["default::look"] }] }, "permission_denied"],
  ["the secret of the server still has it", named(LOCAL_TOKEN), { rules: [LOCAL_ALL] }, "ok"],
  ["no token of its issuer has it now", named("Ada"), { rules: [LOCAL_ALL, READ_ONLY] }, "permission_denied"],
  ["some claim of a token would allow it", named("Ada"), { rules: [LOCAL_ALL, { claims: { role: "admin" }, allow: ["*"] }] }, "ok"],
  ["nobody of an unknown kind has it", named("Bob"), { rules: [LOCAL_ALL, READ_ONLY] }, "permission_denied"],
  ["an unknown name may have it", named("Bob"), { rules: [LOCAL_ALL, { principals: ["Bob"], allow: ["default::remove"] }] }, "ok"],
] as const)("E05 0402 a call that continues after a restart when %s", async (_when, token, options, result) => {
  const world = new World();
  await world.leaveWaiting(token);
  expect([await world.continueWith(options), world.done]).toEqual([result, result === "ok" ? ["remove"] : []]);
});

test("E05 0402 a call that continues after a restart does not run if its key was revoked, by the key's maker too", async () => {
  for (const isMaker of [false, true]) {
    const world = new World();
    let id = "";
    await world.leaveWaiting(async (keys) => {
      const made = await keys.add({ name: "CI", scopes: ["execute"] });
      id = made.stored.id;
      if (!isMaker) return made.key;
      const maker = { id: `key:${id}`, name: "CI", scopes: new Set(["execute"] as const) };
      return (await keys.delegate({ name: "page", sessionId: "s", scopes: ["execute"] }, maker)).key;
    });
    expect(await world.continueWith({}, (keys) => keys.revoke(id))).toBe("permission_denied");
    expect(world.done).toEqual([]);
  }
});

test("E05 0402 a call that was begun in time continues after its key has expired", async () => {
  const world = new World();
  const ttlMs = 60_000;
  await world.leaveWaiting(async (keys) => (await keys.add({ name: "CI", scopes: ["execute"], ttlMs })).key);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * ttlMs });
  onTestFinished(() => void vi.useRealTimers());
  expect(await world.continueWith({})).toBe("ok");
});

test("E05 0402 a call that may have run is outcome_unknown, not denied, when its key was revoked meanwhile", async () => {
  const world = new World();
  const first = await world.serve();
  await first.create();
  const { key, stored } = await first.keys.add({ name: "CI", scopes: ["execute"] });
  void first.execute("pay", key).catch(() => {});
  await vi.waitFor(() => expect(world.done).toEqual(["pay"]), 20_000);
  const next = await world.serve();
  await next.keys.revoke(stored.id);
  const allow = async (principal: string) => ((await next.keys.find(principal))?.tools === undefined ? undefined : { allow: [] });
  const session = await next.runtime.resume("s", { takeOver: true, allow });
  expect([session.history.map(({ result }) => result?.error?.code), world.done]).toEqual([["outcome_unknown"], ["pay"]]);
});

test("0402 the rules of each principal are read once, and none for calls of the program", async () => {
  const world = new World();
  const { runtime } = await world.serve();
  const session = runtime.session("mixed");
  for (const principal of ["a", "a", "b", undefined])
    await session.execute({ name: "pay" }, { background: true, ...(principal === undefined ? {} : { principal }) });
  const next = await world.serve();
  const asked: string[] = [];
  const allow = (principal: string): undefined => void asked.push(principal);
  await next.runtime.resume("mixed", { takeOver: true, allow });
  expect(asked.toSorted()).toEqual(["a", "b"]);
});

test("0402 rules of resume() that cannot be read are refused before the session is opened", async () => {
  const { runtime } = await new World().serve();
  // @ts-expect-error -- a misspelt rule
  await expect(runtime.resume("s", { allow: { allowed: ["*"] } })).rejects.toMatchObject({ code: "invalid_argument" });
});

/** Patterns and tools of few letters, so that they often meet. */
const pattern = fc.constantFrom("*", "a::*", "a::x", "a::y", "b::*", "b::x");
const patterns = fc.option(fc.array(pattern, { maxLength: 2 }), { nil: undefined });
const rule = fc
  .record({
    principals: fc.option(fc.array(fc.constantFrom("u1", "u*", "Ann", "token:*", "*"), { minLength: 1, maxLength: 2 }), { nil: undefined }),
    claims: fc.option(fc.constantFrom({ role: "admin" }, { role: "guest" }), { nil: undefined }),
    allow: patterns,
    deny: patterns,
  })
  .filter(({ allow, deny }) => allow !== undefined || deny !== undefined)
  .map((fields) => JSON.parse(JSON.stringify(fields)));

test("0402 no principal loses a tool that it may use because only its id is known", () => {
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 4 }),
      fc.constantFrom(
        { id: "u1", name: "u1" },
        { id: "u1", name: "Ann" },
        { id: "v", name: "Ann", claims: { role: "guest" } },
        { id: "token:t#1", name: "Ann", claims: { role: "admin" } },
        { id: "token:t#1", name: "u1", claims: {} },
      ),
      (rules, principal) => {
        const access = new AccessRules(rules);
        const [own, most] = [access.visibilityOf(principal), access.mostFor(principal.id)];
        for (const tool of ["a::x", "a::y", "b::x", "c::x"])
          if (own?.permits(tool) !== false) expect(most?.permits(tool), JSON.stringify({ rules, principal, tool })).not.toBe(false);
      },
    ),
    { numRuns: 2_000 },
  );
});
