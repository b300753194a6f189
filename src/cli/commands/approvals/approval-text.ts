/** Formats approvals as text, and finds the approval that a command line names. */
import { userInfo } from "node:os";
import type { ApprovalRecord, ApprovalStatus } from "../../../core/store/approval-store.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { ToolError } from "../../../core/error.ts";
import { StoredApprovals } from "../../../policy/approval/stored-approvals.ts";
import { withStore } from "../../open/open-store.ts";
import type { CommandContext } from "../../command.ts";
import { toOneLine, safeName, type Style } from "../../terminal/terminal-text.ts";

export const STATUS_STYLES: Readonly<Record<ApprovalStatus, Style>> = {
  open: "yellow",
  allowed: "green",
  denied: "red",
  withdrawn: "dim",
  expired: "dim",
};

const LEAST_PREFIX = 4;
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Opens the store of the command line, runs `work` with its approvals, and closes the store. */
export function withInbox<T>(context: CommandContext, readOnly: boolean, work: (inbox: StoredApprovals) => Promise<T>): Promise<T> {
  return withStore(context, { readOnly }, (store) => work(new StoredApprovals({ store: store.approvals })));
}

/** Returns the user of the command line, as the author of an answer. */
export function answererName(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return "cli"; // the user has no name, as in some containers
  }
}

/** Finds an approval by its id, by the beginning of its id, or by the id of its call. @throws ToolError `not_found`, `ambiguous` */
export async function findApproval(inbox: StoredApprovals, name: string): Promise<ApprovalRecord> {
  const exact = await inbox.get(name);
  if (exact !== undefined) return exact;
  const bare = name.replace(/^approval_/u, "");
  const open = await inbox.open();
  const meant = open.filter(({ id, callId }) => callId === name || (bare.length >= LEAST_PREFIX && id.startsWith(`approval_${bare}`)));
  const [found] = meant;
  if (found !== undefined && meant.length === 1) return found;
  if (found !== undefined)
    throw new ToolError("ambiguous", `${meant.length} open approvals begin with ${JSON.stringify(name)}.`, {
      operatorHint: `Write more of the id: ${meant
        .slice(0, 3)
        .map(({ id }) => safeName(id))
        .join(", ")}.`,
    });
  throw new ToolError("not_found", `There is no approval ${JSON.stringify(name)}.`, {
    operatorHint: open.length === 0 ? "No call waits for approval." : "haft approvals list shows those that wait.",
  });
}

/** Returns the wall-clock time after a span such as `7d` from now, in milliseconds since the epoch. @throws ToolError `invalid_argument` */
export function parseExpiry(time: string | undefined): number | undefined {
  if (time === undefined) return undefined;
  const [, amount = "", unit = ""] = /^(\d{1,6})([smhd])$/u.exec(time) ?? [];
  const unitMs = UNITS[unit];
  if (unitMs !== undefined && Number(amount) > 0) return systemPorts.clock.wallTime() + Number(amount) * unitMs;
  throw new ToolError("invalid_argument", `--for is ${JSON.stringify(time)}; it takes a number with s, m, h or d, such as 30m, 8h or 7d.`);
}

/** Formats the tool and its input as one line. */
export function callText({ toolName, input }: ApprovalRecord, width: number): string {
  return toOneLine(`${toolName} ${JSON.stringify(input)}`, width);
}
