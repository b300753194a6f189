import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { testInCI } from "../test-in-ci.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/call-trip.ts", import.meta.url));

testInCI("a plain call enters at most 25 files", { timeout: 240_000 }, () => {
  const shown = execFileSync(process.execPath, ["--conditions=haft-source", SCRIPT], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const files = Number(/^runtime\.execute\(read\)\s+(\d+)/mu.exec(shown)?.[1]);
  expect(files).toBeGreaterThan(0);
  expect(files).toBeLessThanOrEqual(25);
});
