import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { folderWith, haft, PATIENCE_MS } from "./run-haft.ts";

const remove: Tool = {
  name: "remove",
  description: "Deletes a report.",
  inputSchema: { type: "object" },
  effects: { writes: ["session:reports"] },
  execute: ({ year }, { state }) => {
    state.update("removed", () => year ?? null);
    return `removed ${String(year)}`;
  },
};

/** A program that waits for answers to these calls, in this process, and the command line on the same file. */
async function waiting(...years: readonly number[]) {
  const path = temporaryFile();
  const asked: string[] = [];
  const all = Promise.withResolvers<void>();
  const runtime = createRuntime({
    tools: [remove, { ...remove, name: "keep" }],
    store: sqliteStore({ path }),
    approval: {
      always: ["default::*"],
      approve({ id }) {
        if (asked.push(id) === years.length) all.resolve();
        return new Promise(() => {});
      },
    },
  });
  onTestFinished(async () => {
    await runtime.close();
  });
  const session = runtime.session("trip");
  const results = session.execute(years.map((year) => ({ name: "remove", input: { year } })));
  await all.promise;
  const command = (...args: readonly string[]) => haft(["approvals", ...args, "--store", path], { folder: folderWith({}) });
  return { runtime, session, results, asked, command, path };
}

describe("haft approvals", { timeout: PATIENCE_MS }, () => {
  test("issue 19.4 lists pending approvals, shows one with its preview, and allows it for the process that waits for it", async () => {
    const { results, asked, command } = await waiting(2019);
    const [id = ""] = asked;
    const listed = await command("list");
    expect([listed.stderr, listed.exitCode]).toEqual(["", 0]);
    expect(listed.stdout).toContain(`${id}  open`);
    expect(listed.stdout).toContain('    default::remove {"year":2019}\n');
    const shown = await command("show", id.slice(0, 16), "--preview");
    for (const part of [
      "tool     default::remove",
      "why      The approval rules ask before default::remove runs.",
      '  "year": 2019',
      "default removed: nothing → 2019",
      "removed 2019",
    ])
      expect(shown.stdout).toContain(part);
    const allowed = await command("allow", id);
    expect([allowed.stdout, allowed.exitCode]).toEqual(['allowed default::remove {"year":2019}\n', 0]);
    expect((await results).map(({ output }) => output)).toEqual(["removed 2019"]);
    const late = await command("deny", id);
    expect([late.exitCode, late.stderr]).toEqual([7, expect.stringContaining("is allowed already: this answer does not count.")]);
    expect(JSON.parse((await command("list", "--state", "allowed", "--json")).stdout)).toMatchObject({
      id,
      scope: "once",
      answeredBy: expect.stringMatching(/^cli/u),
    });
    expect((await command("list", "--state", "all")).stdout).toContain(`${id}  allowed`);
  });

  test("issue 19.4 answers several approvals by a filter, adds a rule with an expiry, lists rules and revokes them", async () => {
    const { results, session, asked, command } = await waiting(2019, 2020);
    const denied = await command("deny", "--tools", "default::*", "--session", "trip");
    expect(denied.stdout).toContain("2 calls answered\n");
    expect((await results).map(({ error }) => error?.code)).toEqual(["approval_denied", "approval_denied"]);
    const added = await command("rules", "--add", "default::remove", "--for", "8h");
    expect(added.stdout).toMatch(/^rule_\S+ {2}default::remove {2}all that it matches, all sessions, since .* by cli.*, until /u);
    expect(await session.execute({ name: "remove", input: { year: 1 } })).toMatchObject({ output: "removed 1", status: "ok" });
    const [id = ""] = added.stdout.split(" ", 1);
    expect((await command("rules", "--revoke", id)).stdout).toBe(`revoked ${id}\n`);
    expect((await command("rules")).stdout).toBe("");
    expect(asked).toHaveLength(2);
  });

  test.each<[readonly string[], string]>([
    [["allow"], "Say which calls"],
    [["allow", "nobody"], "There is no approval"],
    [["allow", "x", "--session", "s"], "Give ids, or --tools and --session, not both."],
    [["allow", "x", "--remember", "all"], '--remember is "all"; it takes once, input, tool, rule.'],
    [["allow", "x", "--for", "7d"], "give --remember rule as well."],
    [["allow", "x", "--remember", "rule", "--for", "soon"], '--for is "soon"; it takes a number with s, m, h or d'],
    [["list", "--state", "opne"], 'An approval has no state "opne".'],
    [["rules", "--revoke", "nobody"], "There is no approval rule"],
    [["rules", "--for", "7d"], "give --add."],
    [["show"], "haft approvals show"],
  ])("refuses %j", async (args, message) => {
    const path = temporaryFile();
    const store = sqliteStore({ path });
    await store.open();
    await store.close();
    const { exitCode, stderr } = await haft(["approvals", ...args, "--store", path], { folder: folderWith({}) });
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(message);
  });

  test("reports one damaged row, and still lists and answers the others", async () => {
    const { asked, command, runtime, path } = await waiting(2019, 2020, 2021);
    const damaged = asked[1] ?? "";
    const database = new DatabaseSync(path);
    database.prepare("update haft_approval set question = substr(question, 1, 40) where id = ?").run(JSON.stringify(damaged));
    const rule = await runtime.approvals.addRule({ pattern: "other::*" });
    const kept = await runtime.approvals.addRule({ pattern: "third::*" });
    database.prepare("update haft_approval_rule set rule = '{}' where id = ?").run(JSON.stringify(rule.id));
    database.close();
    const listed = await command("list");
    expect([listed.exitCode, listed.stderr]).toEqual([0, ""]);
    for (const id of asked) expect(listed.stdout).toContain(`${id}  open`);
    expect(listed.stdout).toMatch(new RegExp(`${damaged}.*\\n +damaged: The approval .*${damaged}.* is damaged in the store`, "u"));
    const rules = await command("rules");
    expect(rules.stdout).toContain(`${rule.id}  damaged: `);
    expect(rules.stdout).toContain(`${kept.id}  third::*`);
    expect(await command("allow", damaged)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining("is damaged in the store") });
    expect((await command("allow", "--tools", "*")).exitCode).toBe(0);
    await expect.poll(async () => (await runtime.approvals.list({ status: "open" })).map(({ id }) => id)).toEqual([damaged]);
  });
});
