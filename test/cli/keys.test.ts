/** Issue 19.5: `haft keys` makes, lists and revokes the keys of a server. */
import { expect, test } from "vitest";
import { Keys } from "../../src/server/auth/keys.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { requestWith } from "../server/auth/requests.ts";
import { SessionProject } from "./session-project.ts";

/** The scopes that a key has in the store of a project now; undefined for one that is not let in. */
async function scopesOf(project: SessionProject, key: string): Promise<readonly string[] | undefined> {
  const store = sqliteStore({ path: project.path("haft.db") });
  const principal = await new Keys(store.access, systemPorts).authenticate(requestWith(key.trim()));
  await store.close();
  return principal === undefined ? undefined : [...principal.scopes];
}

test("issue 19.5 add prints the key once, list shows it by its id, revoke invalidates it", async () => {
  const project = new SessionProject();
  const added = await project.haft([
    "keys",
    "add",
    "CI",
    "--scope",
    "read",
    "--scope",
    "execute",
    "--tools",
    "files::*",
    "--expires",
    "30d",
  ]);
  expect([added.exitCode, added.stdout]).toEqual([0, expect.stringMatching(/^haft_[0-9a-f]{16}_[\w-]{43}\n$/u)]);
  const id = added.stdout.slice(5, 21);
  expect(added.stderr).toContain(`This is the only time the key is shown. Its id is ${id}, until `);
  expect(await scopesOf(project, added.stdout)).toEqual(["read", "execute"]);

  const listed = await project.haft(["keys", "list"]);
  expect(listed.stdout).toMatch(new RegExp(`^${id}  CI  read execute, made .*, until .*, tools files::\\*\n$`, "u"));
  expect(listed.stdout).not.toContain(added.stdout.slice(22, -1));
  const [json] = (await project.haft(["keys", "list", "--json"])).stdout
    .split("\n")
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line));
  expect(json).toEqual({
    id,
    name: "CI",
    scopes: ["read", "execute"],
    allow: ["files::*"],
    createdBy: "cli",
    createdAt: expect.any(Number),
    expiresAt: expect.any(Number),
  });

  expect((await project.haft(["keys", "revoke", id])).stdout).toBe(`revoked the key ${id}\n`);
  expect((await project.haft(["keys", "revoke", id])).stdout).toBe(`the key ${id} was revoked already\n`);
  expect(await scopesOf(project, added.stdout)).toBeUndefined();
  expect((await project.haft(["keys", "list"])).stdout).toContain(", revoked ");
});

test("issue 19.5 a session key is listed only with --all-keys; --json prints the key with its id", async () => {
  const project = new SessionProject();
  const { stdout } = await project.haft(["keys", "add", "page", "--scope", "read", "--session", "travel", "--expires", "1h", "--json"]);
  const made: unknown = JSON.parse(stdout);
  const id: unknown = expect.stringMatching(/^[0-9a-f]{16}$/u);
  expect(made).toEqual({
    id,
    name: "page",
    key: expect.stringMatching(/^haft_/u),
    scopes: ["read"],
    sessionId: "travel",
    expiresAt: expect.any(Number),
  });
  expect((await project.haft(["keys", "list"])).stdout).toBe("");
  expect((await project.haft(["keys", "list", "--all-keys"])).stdout).toContain("session travel");
});

test.each([
  [["add", "CI"], "A key needs --scope, once or several times."],
  [["add", "CI", "--scope", "reed"], "--scope takes one of read, execute, simulate, approve, admin"],
  [["add", "CI", "--scope", "read", "--expires", "soon"], "--expires takes minutes, hours or days"],
  [["add", "CI", "--scope", "read", "--expires", "99999d"], "--expires takes minutes, hours or days"],
  [["add", "page", "--scope", "admin", "--session", "travel"], 'A session key cannot have the scope "admin"'],
  [["add", "page", "--scope", "read", "--session", "travel", "--expires", "2d"], "ttlMs of a key is 172800000"],
  [["revoke", "0000000000000000"], 'There is no key "0000000000000000".'],
])("issue 19.5 haft keys %j fails with the reason", async (args, message) => {
  const project = new SessionProject();
  await project.haft(["keys", "add", "other", "--scope", "read"]);
  const { exitCode, stderr, stdout } = await project.haft(["keys", ...args]);
  expect([exitCode === 0, stdout]).toEqual([false, ""]);
  expect(stderr).toContain(message);
});
