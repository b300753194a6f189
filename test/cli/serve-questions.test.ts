/** A server that is ended by signals while a call waits for approval, and started again: real processes on one file. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "haft/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { inCI } from "../ci.ts";
import { PATIENCE_MS, folderWith, haft, type Control, type Finished } from "./run-haft.ts";

const TOKEN = "a-token-for-the-tests";

const FILES = {
  "haft.toml": `[store]\npath = "haft.db"\n[approval]\ninbox = true\n[toolsets.files]\ntype = "module"\npath = "./tools.mjs"\n`,
  "tools.mjs": `import { appendFileSync } from "node:fs";
const done = (name) => () => (appendFileSync("done.txt", name + "\\n"), name + " done");
const tool = (name, effects) => ({ name, description: "Does it.", inputSchema: { type: "object" }, effects, execute: done(name) });
const remove = tool("remove", { writes: ["files"], destructive: true });
const clean = { ...tool("clean"), composite: true, execute: async (_input, context) => (await context.execute({ name: "files::remove" })).status };
export default [remove, clean];
`,
};

interface Serving {
  readonly url: string;
  readonly control: Control;
  readonly ended: Promise<Finished>;
}

function serve(folder: string, port: string): Promise<Serving> {
  return new Promise((resolve, reject) => {
    const ended = haft(["serve", "--port", port], {
      folder,
      environment: { HAFT_TOKEN: TOKEN, HAFT_TRUST: "all" },
      onStart: (control) => onTestFinished(() => control.signal("SIGKILL")),
      onOutput({ stderr }, control) {
        const [, url] = /serving at (\S+)/u.exec(stderr) ?? [];
        if (url !== undefined) resolve({ url, control, ended });
      },
    });
    void ended.then(({ stderr }) => reject(new Error(`The server ended: ${stderr}`)));
  });
}

const SIGNALS = [["SIGTERM"], ["SIGTERM", "SIGTERM"], ["SIGINT", "SIGINT"]] as const;
const CASES = SIGNALS.flatMap((signals) => ["remove", "clean"].map((name) => [signals.join(", "), name, signals] as const));

test.for(inCI ? CASES : CASES.slice(0, 1))(
  "a client whose server is stopped by %s and restarted gets the result of its call of %s once a person has allowed it",
  { timeout: PATIENCE_MS },
  async ([, name, signals]) => {
    const folder = folderWith(FILES);
    const first = await serve(folder, "0");
    const client = createClient({ url: first.url, token: TOKEN, maxAttempts: 100 });
    const open = async () => (await client.call("listApprovals")).approvals;
    const waitMs = name === "clean" ? 10 : 30_000; // the client asks for results that are not there in time
    const answered = client.call("execute", { body: { calls: [{ name: `files::${name}` }], waitMs }, idempotencyKey: "k" });
    await vi.waitFor(async () => expect(await open()).toHaveLength(1), PATIENCE_MS);
    const before = await open();
    for (const signal of signals) first.control.signal(signal);
    await first.ended;
    const second = await serve(folder, new URL(first.url).port);
    expect(await open()).toMatchObject(before.map(({ id, digest }) => ({ id, digest, status: "open" })));
    for (const { id, digest } of before)
      await client.call("decideApproval", { params: { callId: id }, body: { answer: "allow-once", digest } });
    expect((await answered).results[0]).toMatchObject({ status: "ok", output: name === "clean" ? "ok" : "remove done" });
    second.control.signal("SIGTERM");
    await second.ended;
    expect(existsSync(join(folder, "done.txt")) && readFileSync(join(folder, "done.txt"), "utf8")).toBe("remove\n");
  },
);
