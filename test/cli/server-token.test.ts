/** The secrets that the command line makes itself. */
import { createClient } from "haft/client";
import { expect, test } from "vitest";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";

const TOOLS = `export const hello = {
  name: "hello", description: "Says hello.", inputSchema: { type: "object" }, effects: { writes: [] }, execute: () => "hello",
};`;
const CONFIG = '[toolsets.office]\ntype = "module"\npath = "./tools.mjs"\n';
/** The random bits that all ids of a process share. */
const SHARED = /^call_([\w-]{22})_/u;

test("E04 the token that haft serve makes cannot be derived from the ids in its answers", { timeout: PATIENCE_MS }, async () => {
  const folder = folderWith({ "haft.toml": CONFIG, "tools.mjs": TOOLS });
  let token = "";
  let asked: Promise<string> | undefined;
  await haft(["serve", "--port", "0"], {
    folder,
    environment: { HAFT_TRUST: "all" },
    onOutput: ({ stderr }, control) => {
      const [, given] = /token (\S+) \(set HAFT_TOKEN/u.exec(stderr) ?? [];
      const [, url] = /serving at (\S+)\n/u.exec(stderr) ?? [];
      if (given === undefined || url === undefined || asked !== undefined) return;
      token = given;
      const client = createClient({ url, token });
      asked = client.call("execute", { body: { calls: [{ name: "office::hello" }] } }).then(({ results }) => results[0]?.callId ?? "");
      void asked.catch(() => {}).finally(() => control.signal("SIGTERM"));
    },
  });
  const [, shared = ""] = SHARED.exec((await asked) ?? "") ?? [];
  expect([token.length, shared.length, token.includes(shared)]).toEqual([43, 22, false]);
});
