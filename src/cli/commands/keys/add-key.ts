/** `haft keys add`: makes a key and shows it once. */
import { ToolError } from "../../../core/error.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { Keys } from "../../../server/auth/keys.ts";
import { SCOPES, type Scope } from "../../../server/auth/principal.ts";
import type { Command } from "../../command.ts";
import { parseChoice } from "../../command-line.ts";
import { withStore } from "../../open/open-store.ts";
import { formatTime } from "../sessions/format-time.ts";
import { parseTimeSpan } from "./time-span.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";

export const addKey: Command = {
  name: "keys add",
  usage: "<name>",
  summary: "Make a key, and print it once.",
  details: [
    "Scopes: read (tools, sessions, events), execute, simulate, approve, and admin,",
    "which includes all. Without --tools it may use all tools that the rules of the",
    "server allow. Standard output is the key alone; with --json its id as well. The",
    "store is created where there is none.",
  ],
  args: [1, 1],
  options: ["store", "config", "scope", "tools", "expires", "session"],
  examples: [
    "haft keys add ci --scope read --scope execute --tools 'files::*'",
    "haft keys add dashboard --scope read --expires 30d",
    "haft keys add page --scope read --session travel --expires 1h",
  ],
  async run(context) {
    const { args, options, out, err } = context;
    const [name = ""] = args;
    const scopes = options.scope.map((scope) => parseChoice("scope", scope, SCOPES));
    if (scopes.length === 0) throw noScopeError();
    const ttlMs = options.expires === undefined ? undefined : parseTtl(options.expires);
    const key = {
      name,
      scopes,
      createdBy: "cli",
      ...(options.tools.length === 0 ? {} : { allow: options.tools }),
      ...omitUndefined({ ttlMs }),
    };
    const { session: sessionId } = options;
    const { key: text, stored } = await withStore(context, { readOnly: false, create: true }, (store) => {
      const keys = new Keys(store.access, systemPorts);
      return sessionId === undefined ? keys.add(key) : keys.addSessionKey({ ...key, sessionId });
    });
    const { id, expiresAt } = stored;
    if (options.json) out.writeJson({ id, name, key: text, scopes, ...omitUndefined({ sessionId, expiresAt }) });
    else out.write(`${text}\n`);
    const until = expiresAt === undefined ? "" : `, until ${formatTime(expiresAt)}`;
    err.print(err.paint("dim", `This is the only time the key is shown. Its id is ${id}${until}.`));
    return 0;
  },
};

function noScopeError(): ToolError {
  return new ToolError("invalid_argument", "A key needs --scope, once or several times.", {
    hint: `Scopes: ${SCOPES.join(", ")}. For example: --scope ${"read" satisfies Scope}`,
  });
}

const MAX_DAYS = 3_660;

/** Reads `--expires`. @throws ToolError `invalid_argument` */
function parseTtl(text: string): number {
  const spanMs = parseTimeSpan(text);
  if (spanMs !== undefined && spanMs <= MAX_DAYS * 86_400_000) return spanMs;
  throw new ToolError("invalid_argument", `--expires takes minutes, hours or days up to ${MAX_DAYS}d, not ${JSON.stringify(text)}.`, {
    hint: "For example: --expires 30d",
  });
}
