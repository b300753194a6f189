/** `haft store check`: looks for damage and inconsistencies, and changes nothing. */
import { plural } from "../../../core/base/wording.ts";
import type { Command } from "../../command.ts";
import { resolveStoreLocation } from "../../open/open-store.ts";
import { Progress } from "../../terminal/progress.ts";
import { waitForDrain } from "../../terminal/wait-for-drain.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { withStoreConnection, formatLocation } from "./store-connection.ts";

export const checkStoreCommand: Command = {
  name: "store check",
  usage: "",
  summary: "Compare the tables, verify every checksum.",
  details: [
    "Looks at the version, at the file, at tables, keys and indexes, at the events",
    "of every session (checksums, missing positions), at artifacts and at cached",
    "results. Each finding says what to do about it. With findings the exit code is",
    "1. With --json one object per finding.",
  ],
  args: [0, 0],
  options: ["store", "schema", "config"],
  examples: ["haft store check", "haft store check --json | jq .what"],
  async run(context) {
    const { out, err, options, signal } = context;
    const location = await resolveStoreLocation(context);
    const progress = new Progress(err);
    let findings = 0;
    await withStoreConnection(location, { readOnly: true, doing: "could not be checked" }, async (connection) => {
      const { checkStore } = await import("../../../store/upkeep/check-store.ts");
      const onProgress = (subject: string, count: number): void => progress.show(() => `checking: ${count} ${subject}`);
      for await (const finding of checkStore(connection, { signal, onProgress })) {
        findings++;
        await waitForDrain(context);
        progress.clear();
        if (options.json) out.writeJson(finding);
        else out.print(`${out.paint("red", "✗")} ${safeText(finding.what)}\n    ${safeText(finding.wayOut)}`);
      }
    });
    progress.clear();
    if (!options.json) out.print(`${safeText(formatLocation(location))}: ${findings === 0 ? "all is well" : plural(findings, "finding")}`);
    return findings === 0 ? 0 : 1;
  },
};
