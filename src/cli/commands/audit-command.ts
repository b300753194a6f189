/** `haft audit`: who called what, when, where, and with which outcome. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { ToolError } from "../../core/error.ts";
import { readAudit, type AuditEntry } from "../../server/auth/audit.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { parseTimeSpan } from "./keys/time-span.ts";
import { plural } from "../../core/base/wording.ts";
import { Progress } from "../terminal/progress.ts";
import { withStore } from "../open/open-store.ts";
import { printList } from "../print/print-list.ts";
import { formatTime } from "./sessions/format-time.ts";
import { formatDuration, toOneLine, safeName, safeText } from "../terminal/terminal-text.ts";

const DEFAULT_LIMIT = 100;

export const auditCommand: CommandBody = {
  details: [
    "One line per call, approval, message, key or refused request, newest first:",
    "when, the principal that it was made for, the tool and the outcome, and the",
    "session. Calls are read from the sessions' logs themselves, whose checksums are",
    "verified; those of sessions that were removed are gone. Calls outside a",
    "session, such as those of MCP clients without one, are kept separately.",
    "--principal and --tool take patterns, --outcome a word such as error or an",
    "error code, --since and --until a time such as 2026-11-26T12:00Z or a span such",
    "as 24h. With --json one object per line.",
  ],
  args: [0, 0],
  options: ["store", "config", "principal", "tool", "outcome", "since", "until", "limit"],
  examples: [
    "haft audit --since 24h",
    "haft audit --outcome permission_denied",
    "haft audit --principal 'key:*' --tool 'files::*'",
    "haft audit --json | jq -r .principal",
  ],
  async run(context) {
    const { principal, tool, outcome, since, until, limit = DEFAULT_LIMIT } = context.options;
    const now = systemPorts.clock.wallTime();
    const times = {
      since: since === undefined ? undefined : parseTime("since", since, now),
      until: until === undefined ? undefined : parseTime("until", until, now),
    };
    if ((times.since ?? -Infinity) >= (times.until ?? Infinity))
      throw new ToolError("invalid_argument", `--since ${since} is not before --until ${until}, so nothing is between them.`);
    const progress = new Progress(context.err);
    const onProgress = (events: number): void => progress.show(() => `reading: ${plural(events, "event")}`);
    const options = { limit: limit + 1, signal: context.signal, onProgress, ...omitUndefined({ principal, tool, outcome, ...times }) };
    const damaged: string[] = [];
    const entries = await withStore(context, { readOnly: true }, (store) =>
      readAudit(store, options, (sessionId, reason) => damaged.push(`session ${safeName(sessionId)}: ${safeText(reason)}`)),
    ).finally(() => progress.clear());
    await printList(context, entries, { limit, none: "nothing" }, (shown) => formatEntries(context, shown));
    for (const line of damaged) context.err.print(context.err.paint("red", `not read to its end: ${line}`));
    return damaged.length === 0 ? 0 : 1;
  },
};

/** A day, or a time of a day, in the local time zone if none is given. Date.parse accepts much more, and reads some of it as another day. */
const TIME = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/u;

const DAY_LENGTH = "2026-11-26".length;

/** Whether the day exists: Date.parse reads 30 February as 2 March. */
function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

/** Reads a time, or a span before `now`. @throws ToolError `invalid_argument` */
function parseTime(option: "since" | "until", text: string, now: number): number {
  const span = parseTimeSpan(text);
  if (span !== undefined) return now - span;
  const time =
    TIME.test(text) && isDay(text.slice(0, DAY_LENGTH)) ? Date.parse(text.length === DAY_LENGTH ? `${text}T00:00` : text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new ToolError("invalid_argument", `--${option} takes a time or a span, not ${JSON.stringify(text)}.`, {
    hint: `For example: --${option} 2026-11-26T12:00Z, or --${option} 24h`,
  });
}

function* formatEntries({ out }: CommandContext, entries: readonly AuditEntry[]): Generator<string, void, undefined> {
  for (const entry of entries)
    yield `${out.paint("dim", formatTime(entry.at))}  ${toOneLine(formatEntry(entry), Math.max(40, out.width - 22))}`;
}

function formatEntry(entry: AuditEntry): string {
  const who = safeName(entry.principal ?? "-");
  switch (entry.type) {
    case "call":
      return `${who} called ${safeName(entry.toolName)}: ${callWords(entry).join(", ")}`;
    case "approval-ask":
      return `${safeName(entry.toolName)} needs approval, session ${safeName(entry.sessionId)}`;
    case "approval-answer": {
      const { toolName, status = "", scope, ruleId, sessionId } = entry;
      const how = [status, ...(scope === undefined ? [] : [scope]), ...(ruleId === undefined ? [] : [`rule ${safeName(ruleId)}`])];
      return `${who} answered ${safeName(toolName)}: ${how.join(", ")}, session ${safeName(sessionId)}`;
    }
    case "message":
    case "input":
      return `${who} sent ${entry.type === "message" ? "a message" : "input"}, session ${safeName(entry.sessionId)}`;
    case "key-add":
    case "key-revoke": {
      const { keyId, name, scopes, sessionId } = entry;
      const which = `${safeName(keyId)} (${safeName(name)})`;
      if (entry.type === "key-revoke") return `the key ${which} was revoked`;
      return `${who} made the key ${which}: ${safeText(scopes.join(" "))}${sessionId === undefined ? "" : `, session ${safeName(sessionId)}`}`;
    }
    case "refusal": {
      const { method, path, status, reason, from, missed, toolNames } = entry;
      const more = [
        ...(from === undefined ? [] : [`from ${safeText(from)}`]),
        ...(missed === undefined ? [] : [`and ${missed} more before it`]),
      ];
      const tools = toolNames === undefined ? "" : ` for ${toolNames.map(safeName).join(", ")}`;
      return [`${who} was refused ${safeText(method)} ${safeText(path)}${tools}: ${status}, ${safeText(reason)}`, ...more].join(" ");
    }
  }
}

function callWords(entry: AuditEntry & { readonly type: "call" }): readonly string[] {
  const { outcome, errorCode, durationMs, simulated, via, sessionId, approvedBy, missed } = entry;
  return [
    outcome,
    ...(errorCode === undefined || errorCode === outcome ? [] : [errorCode]),
    ...(durationMs === undefined ? [] : [formatDuration(durationMs)]),
    ...(simulated === undefined ? [] : ["simulated"]),
    ...(via === undefined ? [] : [via === "api" ? "over HTTP" : "over MCP"]),
    ...(sessionId === undefined ? [] : [`session ${safeName(sessionId)}`]),
    ...(approvedBy === undefined ? [] : [`approved by ${safeName(approvedBy)}`]),
    ...(missed === undefined ? [] : [`and ${missed} more before it that were not kept`]),
  ];
}
