/** `haft store copy`: copies everything into an empty store of any kind. */
import { maxOf } from "../../../core/collections/push-all.ts";
import { ToolError } from "../../../core/error.ts";
import { plural } from "../../../core/base/wording.ts";
import type { StoreLocation } from "../../../store/connect-store.ts";
import type { Command, CommandContext } from "../../command.ts";
import { parseStoreLocation, resolveStoreLocation } from "../../open/open-store.ts";
import { Progress } from "../../terminal/progress.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { formatLocation } from "./store-connection.ts";

/** How long a transaction may be idle, in milliseconds, while the other store is read, written or verified. */
const IDLE_MS = 86_400_000;

export const copyStoreCommand: Command = {
  name: "store copy",
  usage: "<target>",
  summary: "Copy the store into an empty one.",
  details: [
    "The target is a file that is not there yet, or a postgres:// address; --schema",
    "names its schema. It must be empty: nothing is ever added to an existing store.",
    "It gets the sessions, jobs, keys, refusals, calls, first answers, approvals,",
    "rules, webhooks and artifacts; the cache starts empty. All that was copied is",
    "read again and compared by checksums, and every session is verified, before the",
    "copy is complete. A failure or Ctrl-C leaves the target as it was. Writes to",
    "the source meanwhile are not copied: stop its programs first.",
  ],
  args: [1, 1],
  options: ["store", "schema", "config"],
  examples: ["haft store copy postgres://haft@db/haft", "haft store copy saved.db --store postgres://haft@db/haft"],
  async run(context) {
    const { out, err, options } = context;
    const { schema, ...others } = options;
    const target = parseStoreLocation(context.args[0] ?? "", schema);
    const source = await resolveStoreLocation({ ...context, options: { ...others, schema: undefined } });
    if (formatLocation(source) === formatLocation(target))
      throw new ToolError("invalid_argument", `${formatLocation(target)} is the store itself.`, { hint: "Name another file or address." });
    const progress = new Progress(err);
    const tables = await copy({ source, target }, context, progress).finally(() => progress.clear());
    if (options.json) {
      for (const table of tables) out.writeJson(table);
      return 0;
    }
    const width = maxOf(tables.map(({ table }) => table.length));
    for (const { table, rows, checksum } of tables) out.print(`${table.padEnd(width)}  ${checksum}  ${plural(rows, "row")}`);
    out.print(`${out.paint("green", "✓")} ${safeText(formatLocation(target))} holds the same data, and every session is intact`);
    return 0;
  },
};

interface Places {
  readonly source: StoreLocation;
  readonly target: StoreLocation;
}

async function copy({ source, target }: Places, { err, signal }: CommandContext, progress: Progress) {
  const { connectStore } = await import("../../../store/connect-store.ts");
  const { withCopyTarget, withConnection } = await import("../../../store/upkeep/copy-target.ts");
  const { copyStore, countOpenSessions } = await import("../../../store/upkeep/copy-store.ts");
  const onProgress = (subject: string, count: number): void => progress.show(() => `copying: ${count} ${subject}`);
  return withConnection(await connectStore(source, { readOnly: true, idleMs: IDLE_MS }), (from) =>
    withCopyTarget(target, { idleMs: IDLE_MS }, async (to) => {
      try {
        const open = await countOpenSessions(from);
        if (open > 0)
          err.print(
            err.paint("yellow", `${plural(open, "session")} of the source may be open: what is written from now on is not copied.`),
          );
        return await copyStore({ from, to }, { signal, onProgress });
      } catch (thrown: unknown) {
        const isOfFile = typeof thrown === "object" && thrown !== null && "errcode" in thrown;
        throw ("path" in source === isOfFile ? from : to).toStoreError(thrown, "could not be copied");
      }
    }),
  );
}
