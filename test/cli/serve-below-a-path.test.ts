/** `haft serve` below a path, and for pages of other origins: by the configuration and by the command line. */
import { expect, test } from "vitest";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const TOKEN = "a-token-for-the-tests";
const CONFIG = '[serve]\nbasePath = "/of-the-file"\nallowedOrigins = ["https://one.example"]\n';

testInCI("haft serve --base-path overrides [serve] basePath, and the origins of both are allowed", { timeout: PATIENCE_MS }, async () => {
  let seen: Promise<readonly unknown[]> | undefined;
  const seenAt = async (url: string): Promise<readonly unknown[]> => {
    const statusFor = async (origin: string): Promise<number> =>
      (await fetch(`${url}/v1/info`, { headers: { authorization: `Bearer ${TOKEN}`, origin } })).status;
    const origins = [new URL(url).origin, "https://one.example", "https://two.example", "https://three.example"];
    return [new URL(url).pathname, ...(await Promise.all(origins.map(statusFor)))];
  };
  await haft(["serve", "--port", "0", "--base-path", "/haft", "--allowed-origin", "https://two.example"], {
    folder: folderWith({ "haft.toml": CONFIG }),
    environment: { HAFT_TOKEN: TOKEN, HAFT_TRUST: "all" },
    onOutput: ({ stderr }, control) => {
      const [, url] = /serving at (\S+)/u.exec(stderr) ?? [];
      if (url === undefined || seen !== undefined) return;
      seen = seenAt(url);
      void seen.finally(() => control.signal("SIGTERM")).catch(() => {});
    },
  });
  expect(await seen).toEqual(["/haft", 200, 200, 200, 403]);
});

test.each([
  [["--base-path", "haft/"], 'The basePath "haft/" must be a path such as "/haft"'],
  [["--base-path", "/v1"], 'The basePath "/v1" must not begin like a path of the server'],
  [["--allowed-origin", "https://app.example/"], 'The --allowed-origin "https://app.example/" is neither an origin such as'],
])("haft serve refuses %j and starts nothing", { timeout: PATIENCE_MS }, async (args, reason) => {
  const { exitCode, stderr } = await haft(["serve", "--port", "0", ...args], { folder: folderWith({ "haft.toml": "" }) });
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)]);
  expect(stderr).not.toContain("serving");
});
