import { quoteValue } from "../../../core/base/wording.ts";
import { MILLISECONDS, checkNumber } from "../../../core/base/number-bounds.ts";
import { ToolError } from "../../../core/error.ts";
import { checkKnownKeys } from "../../../core/known-keys.ts";
import type { Clock, Log } from "../../../core/ports.ts";

/** Options of `UserLogins`: how users of a gateway log in to the MCP servers behind it. */
export interface UserLoginsOptions {
  /**
   * The address of this program for the browsers of users: `https://tools.example`. Its pages are under `/upstreams/`, after the `basePath` of the
   * server. @default the address given to `setOrigin`; without either, no login begins here, and users log in through another process that shares the
   * folder
   */
  readonly origin?: string;
  /**
   * The folder in which tokens outlive the process, in files that only the user of this process can read. Several processes may share it. @default
   * tokens are kept in memory
   */
  readonly folder?: string;
  /** How long a login may take after it has begun, in milliseconds. @default 600_000 */
  readonly loginMs?: number;
  readonly ports?: { readonly clock?: Clock; readonly log?: Log };
}

/** @throws ToolError `invalid_argument` for options that cannot work */
export function checkOptions(options: UserLoginsOptions): void {
  checkKnownKeys(options, { origin: true, folder: "string", loginMs: true, ports: "object" }, "new UserLogins()");
  checkNumber(options.loginMs, "loginMs", MILLISECONDS);
}

/** @throws ToolError `invalid_argument` if the text is not an origin */
export function checkOrigin(origin: string): void {
  if (typeof origin === "string" && URL.canParse(origin) && new URL(origin).origin === origin && /^https?:/u.test(origin)) return;
  throw new ToolError("invalid_argument", `${quoteValue(origin)} is not an origin that logins can return to.`, {
    hint: "Give only scheme, host and port, such as https://tools.example.",
  });
}
