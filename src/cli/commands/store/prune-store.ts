/** `haft store prune`: removes old data. */
import { ToolError } from "../../../core/error.ts";
import { plural } from "../../../core/base/wording.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { parseChoice } from "../../command-line.ts";
import type { Command } from "../../command.ts";
import { PRUNED_PARTS, type PrunedPart } from "../../../store/upkeep/pruned-parts.ts";
import { parseTimeSpan } from "../keys/time-span.ts";
import { resolveStoreLocation } from "../../open/open-store.ts";
import { Progress } from "../../terminal/progress.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { withStoreConnection, formatLocation } from "./store-connection.ts";

const WORDS: Readonly<Record<PrunedPart, string>> = {
  jobs: "job",
  sessions: "session",
  artifacts: "artifact",
  answers: "first answer",
  calls: "audited call",
  cache: "cached result",
};

export const pruneStoreCommand: Command = {
  name: "store prune",
  usage: "",
  summary: "Remove data that did not grow for a long time.",
  details: [
    "Removes sessions by the time of their last event, with their jobs and",
    "questions; files of answers that no session refers to any more; jobs that have",
    "ended; first answers of requests with an Idempotency-Key, after a day at the",
    "earliest; calls that the audit has without a session; cached results. A session",
    "stays while it is open, and while a session that stays branches off it. Ctrl-C",
    "stops between two batches: what was removed stays removed.",
  ],
  args: [0, 0],
  options: ["older-than", "only", "dry-run", "store", "schema", "config"],
  examples: ["haft store prune --older-than 90d --dry-run", "haft store prune --older-than 7d --only cache --only jobs"],
  async run(context) {
    const { out, err, options, signal } = context;
    const ageMs = parseAge(options.olderThan);
    const only = options.only.map((text) => parseChoice("only", text, PRUNED_PARTS));
    const parts = PRUNED_PARTS.filter((part) => only.length === 0 || only.includes(part));
    const location = await resolveStoreLocation(context);
    const progress = new Progress(err);
    const now = systemPorts.clock.wallTime();
    const { dryRun } = options;
    const counts = await withStoreConnection(location, { readOnly: dryRun, doing: "could not be pruned" }, async (connection) => {
      const { pruneStore } = await import("../../../store/upkeep/prune-store.ts");
      const onProgress = (subject: string, count: number): void => progress.show(() => `removed: ${count} ${subject}`);
      return pruneStore(connection, { before: now - ageMs, now, parts, dryRun, signal, onProgress });
    }).finally(() => progress.clear());
    if (options.json) out.writeJson({ store: formatLocation(location), before: now - ageMs, dryRun, ...counts });
    else {
      const countsText = parts.map((part) => plural(counts[part] ?? 0, WORDS[part])).join(", ");
      out.print(`${safeText(formatLocation(location))}: ${dryRun ? "would remove" : "removed"} ${countsText}`);
    }
    return 0;
  },
};

function parseAge(text: string | undefined): number {
  const ageMs = text === undefined ? undefined : parseTimeSpan(text);
  if (ageMs !== undefined) return ageMs;
  const what = text === undefined ? "--older-than is missing" : `--older-than takes a span of time, not ${JSON.stringify(text)}`;
  throw new ToolError("invalid_argument", `${what}.`, { hint: "For example: --older-than 90d" });
}
