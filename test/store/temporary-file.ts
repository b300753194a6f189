/** Files that a test leaves no trace of. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A path of its own, in a folder that goes with the test. */
export function temporaryFile(name = "sessions.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "haft-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}
