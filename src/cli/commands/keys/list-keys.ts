/** `haft keys list`: the keys of the store, the newest first. */
import type { StoredKey } from "../../../core/store/access-store.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { Keys } from "../../../server/auth/keys.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { printList } from "../../print/print-list.ts";
import { formatTime } from "../sessions/format-time.ts";
import { columnWidth, toOneLine, safeName, safeText } from "../../terminal/terminal-text.ts";
import { countColumns, padColumns } from "../../terminal/text-width.ts";

const DEFAULT_LIMIT = 100;
const MAX_COLUMN = 40;

type ListedKey = Omit<StoredKey, "hash" | "salt">;

export const listKeys: Command = {
  name: "keys list",
  usage: "",
  summary: "List the keys, the newest first.",
  details: [
    "One line per key: its id, its name, its scopes, when it was made and whether it",
    "is still valid. --all-keys shows those of sessions as well. The keys themselves",
    "are not in the store. With --json one object per line.",
  ],
  args: [0, 0],
  options: ["store", "config", "limit", "all-keys"],
  examples: ["haft keys list", "haft keys list --json | jq -r .id"],
  async run(context) {
    const limit = context.options.limit ?? DEFAULT_LIMIT;
    await withStore(context, { readOnly: true }, async (store) => {
      const found = await new Keys(store.access, systemPorts).list({ limit: limit + 1, sessionKeys: context.options.allKeys });
      await printList(context, found, { limit, none: "no keys" }, (keys) => formatKeys(context, keys));
    });
    return 0;
  },
};

function* formatKeys({ out }: CommandContext, keys: readonly ListedKey[]): Generator<string, void, undefined> {
  const nameWidth = columnWidth(
    keys.map(({ name }) => toOneLine(name, MAX_COLUMN)),
    MAX_COLUMN,
  );
  for (const key of keys) {
    const start = `${key.id}  ${padColumns(toOneLine(key.name, MAX_COLUMN), nameWidth)}`;
    const facts = toOneLine(formatFacts(key), Math.max(MAX_COLUMN, out.width - countColumns(start) - 2));
    yield `${out.paint("bold", key.id)}${start.slice(key.id.length)}  ${out.paint("dim", facts)}`;
  }
}

function formatFacts({ scopes, createdAt, expiresAt, revokedAt, sessionId, allow, deny }: ListedKey): string {
  const isOver = expiresAt !== undefined && expiresAt <= systemPorts.clock.wallTime();
  return [
    scopes.join(" "),
    `made ${formatTime(createdAt)}`,
    ...(revokedAt === undefined ? [] : [`revoked ${formatTime(revokedAt)}`]),
    ...(expiresAt === undefined ? [] : [`${isOver ? "expired" : "until"} ${formatTime(expiresAt)}`]),
    ...(sessionId === undefined ? [] : [`session ${safeName(sessionId)}`]),
    ...(allow === undefined ? [] : [`tools ${safeText(allow.join(" "))}`]),
    ...(deny === undefined ? [] : [`not ${safeText(deny.join(" "))}`]),
  ].join(", ");
}
