/** `haft serve` sends the webhooks of its configuration. */
import { createHmac, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const TOKEN = "a-token-for-the-tests";

const TOOLS = `export const erase = {
  name: "erase", description: "Erases.", inputSchema: { type: "object" }, effects: { writes: ["disk"], destructive: true }, execute: () => "erased",
};`;

function config(url: string, store = '[store]\npath = "haft.db"\nsynchronous = "normal"\n'): string {
  return `${store}
[toolsets.disk]\ntype = "module"\npath = "./tools.mjs"\n
[[webhooks]]\nurl = "${url}"\nsecret = "env:HOOK_SECRET"\nevents = ["approval.asked"]\n`;
}

testInCI(
  "issue 19.4 haft serve notifies the configured webhooks of a waiting call, with a signature",
  { timeout: PATIENCE_MS },
  async () => {
    const received = Promise.withResolvers<{ readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }>();
    const receiver = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => (body += text));
      request.on("end", () => (received.resolve({ headers: request.headers, body }), response.writeHead(204).end()));
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void receiver.close());
    const address = receiver.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const folder = folderWith({ "haft.toml": config(`http://127.0.0.1:${port}/hook`), "tools.mjs": TOOLS });
    let isAsked = false;
    let refusal: unknown;
    const served = await haft(["serve", "--port", "0"], {
      folder,
      environment: { HAFT_TOKEN: TOKEN, HOOK_SECRET: SECRET, HAFT_TRUST: "all" },
      onOutput: ({ stderr }, control) => {
        const [, url] = /serving at (\S+)/u.exec(stderr) ?? [];
        if (url === undefined || isAsked) return;
        isAsked = true;
        const post = (path: string, value: object) =>
          fetch(`${url}/v1/${path}`, {
            method: "POST",
            headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
            body: JSON.stringify(value),
          });
        void post("execute", { calls: [{ name: "disk::erase" }], waitMs: 0 });
        const denyAndStop = async (): Promise<void> => {
          const { callId, digest } = JSON.parse((await received.promise).body).data;
          // A server that stops waits for calls under way.
          refusal = await (await post(`approvals/${callId}`, { answer: "deny", digest })).json();
          control.signal("SIGTERM");
        };
        void denyAndStop();
      },
    });
    const { headers, body } = await received.promise;
    expect(refusal).toEqual({ decided: true });
    const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
    const signed = createHmac("sha256", key).update([headers["webhook-id"], headers["webhook-timestamp"], body].join(".")).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${signed}`);
    expect(JSON.parse(body)).toMatchObject({ type: "approval.asked", data: { toolName: "disk::erase" } });
    expect(served.stderr).not.toContain(SECRET);
  },
);

test.each([
  ["a variable that is not set", {}, "webhooks[0].secret: the environment variable HOOK_SECRET is not set.", undefined],
  ["a secret that is none", { HOOK_SECRET: "short" }, "webhooks[0].secret: the variable HOOK_SECRET cannot be used.", undefined],
  ["no store", { HOOK_SECRET: SECRET }, "need a store", ""],
])("issue 19.4 haft serve does not start with %s", async (_what, environment, message, store) => {
  const folder = folderWith({ "haft.toml": config("https://hooks.example/haft", store), "tools.mjs": TOOLS });
  const { exitCode, stderr } = await haft(["serve", "--port", "0"], {
    folder,
    environment: { HAFT_TOKEN: TOKEN, HAFT_TRUST: "all", ...environment },
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: expect.stringContaining(message) });
  expect(stderr).not.toContain("short");
});
