/** The options of `UserLogins`. */
import { quoted } from "../../../core/base/wording.ts";
import { MILLISECONDS, checkNumber } from "../../../core/base/number-bounds.ts";
import { ToolError } from "../../../core/error.ts";
import { checkKnownKeys } from "../../../core/known-keys.ts";
import type { Clock, Log } from "../../../core/ports.ts";

/** How users of a gateway log in to the MCP servers behind it. */
export interface UserLoginsOptions {
  /**
   * The address of this program as browsers of the users reach it: `https://tools.example`. Its pages are under `/upstreams/`, behind the `basePath` of the server. @default that
   * of `serveAt`; without either, no login begins here, and users log in by another process that shares the folder
   */
  readonly origin?: string;
  /**
   * Where tokens are kept over a restart, in files that only the user of this process can read. Several processes may share it. @default
   * in memory
   */
  readonly folder?: string;
  /** How long a login may take once it has begun, in milliseconds. @default 600_000 */
  readonly loginMs?: number;
  readonly ports?: { readonly clock?: Clock; readonly log?: Log };
}

/** @throws ToolError `invalid_argument` for options that cannot work */
export function checkOptions(options: UserLoginsOptions): void {
  checkKnownKeys(options, { origin: true, folder: "string", loginMs: true, ports: "object" }, "new UserLogins()");
  checkNumber(options.loginMs, "loginMs", MILLISECONDS);
}

/** @throws ToolError `invalid_argument` for an origin that is none */
export function checkOrigin(origin: string): void {
  if (typeof origin === "string" && URL.canParse(origin) && new URL(origin).origin === origin && /^https?:/u.test(origin)) return;
  throw new ToolError("invalid_argument", `${quoted(origin)} is no origin that logins could come back to.`, {
    hint: "Write scheme, host and port alone, such as https://tools.example.",
  });
}
