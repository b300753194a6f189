/** `haft serve` simulates calls without a table `[simulation]`, as `haft call --simulate` does. */
import { createClient } from "haft/client";
import { expect } from "vitest";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const TOKEN = "a-token-for-the-tests";

const TOOLS = `export const erase = {
  name: "erase", description: "Erases.", inputSchema: { type: "object" }, outputSchema: { type: "string", const: "erased" },
  effects: { writes: ["disk"], destructive: true }, execute() { throw new Error("It was run."); },
};`;

const CONFIG = '[toolsets.disk]\ntype = "module"\npath = "./tools.mjs"\n';

interface Seen {
  readonly simulated: unknown;
  readonly preview: unknown;
}

async function seenAt(url: string): Promise<Seen> {
  const client = createClient({ url, token: TOKEN });
  const calls = [{ name: "disk::erase" }];
  const simulated = await client.call("simulate", { body: { calls } });
  const executing = client.call("execute", { body: { calls } });
  let asked: { readonly callId: string; readonly digest: string } | undefined;
  while (asked === undefined) [asked] = (await client.call("listApprovals", {})).approvals;
  const params = { callId: asked.callId };
  const preview = await client.call("previewApproval", { params });
  await client.call("decideApproval", { params, body: { answer: "deny", digest: asked.digest } });
  await executing;
  return { simulated, preview };
}

testInCI(
  "issue 19.4 haft serve simulates a write with an example answer, and its approval preview shows the write without an invented answer",
  { timeout: PATIENCE_MS },
  async () => {
    const folder = folderWith({ "haft.toml": CONFIG, "tools.mjs": TOOLS });
    let seen: Promise<Seen> | undefined;
    await haft(["serve", "--port", "0"], {
      folder,
      environment: { HAFT_TOKEN: TOKEN, HAFT_TRUST: "all" },
      onOutput: ({ stderr }, control) => {
        const [, url] = /serving at (\S+)/u.exec(stderr) ?? [];
        if (url === undefined || seen !== undefined) return;
        seen = seenAt(url);
        void seen.finally(() => control.signal("SIGTERM")).catch(() => {});
      },
    });
    expect(await seen).toMatchObject({
      simulated: {
        results: [{ status: "ok", output: "erased", origin: "simulated", answeredBy: "example" }],
        diff: { pretended: ["disk"] },
      },
      preview: { available: true, writes: ["disk"] },
    });
    expect((await seen)?.preview).not.toHaveProperty("answer");
  },
);
