/** Commands that continue calls which callers of a server have made. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRuntime, type Tool } from "haft";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { Keys } from "../../src/server/auth/keys.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { SessionProject } from "./session-project.ts";

const RULES = `
[[serve.rules]]
allow = ["*"]

[[serve.rules]]
principals = ["local"]
deny = ["shop::look"]
`;

test("E05 0402 haft sessions resume runs no call that its caller may not make any more", async () => {
  const project = new SessionProject();
  const config = join(project.folder, "haft.toml");
  await writeFile(config, (await readFile(config, "utf8")) + RULES);
  const store = sqliteStore({ path: join(project.folder, "haft.db"), synchronous: "normal" });
  const begun = Promise.withResolvers<void>();
  let count = 0;
  const look: Tool = {
    name: "look",
    description: "Does not end.",
    inputSchema: { type: "object" },
    effects: { reads: ["bank"] },
    execute: () => {
      if (++count === 3) begun.resolve();
      return new Promise(() => {});
    },
  };
  const runtime = createRuntime({ toolsets: [{ name: "shop", tools: [look] }], store });
  onTestFinished(async () => void (await runtime.close()));
  const keys = new Keys(store.access, systemPorts);
  const revoked = (await keys.add({ name: "old", scopes: ["execute"] })).stored.id;
  const valid = (await keys.add({ name: "CI", scopes: ["execute"] })).stored.id;
  const session = runtime.session("s");
  for (const principal of ["local", `key:${revoked}`, `key:${valid}`])
    await session.execute({ name: "look" }, { principal, background: true });
  await begun.promise;
  await keys.revoke(revoked);
  const { exitCode, stdout } = await project.haft(["sessions", "resume", "s", "--take-over", "--yes", "--json"]);
  const ends = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(exitCode).toBe(0);
  expect(ends.map(({ error, output }) => error?.code ?? output)).toEqual(["permission_denied", "permission_denied", "seen"]);
});
