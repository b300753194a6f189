/** Refuses all runs after too many failed calls in a row, until a person clears it. */
import { ToolError } from "../core/error.ts";
import { checkResult } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { ToolResult } from "../core/result.ts";
import { plural, quoteValue } from "../core/base/wording.ts";

/** Options of `EmergencyStop`. */
export interface EmergencyStopOptions {
  /** Number of failed calls in a row after which it stops. @default 5 */
  readonly errors?: number;
}

const DEFAULT_ERRORS = 5;

/** Counts failed calls, over all runs and loops that share it. A call that succeeds resets the count. */
export class EmergencyStop {
  readonly #limit: number;
  #errors = 0;
  #lastFailure = "";

  /** @throws ToolError `invalid_argument` */
  constructor(options: EmergencyStopOptions = {}) {
    checkKnownKeys(options, { errors: true }, "new EmergencyStop()");
    const { errors = DEFAULT_ERRORS } = options;
    if (!Number.isSafeInteger(errors) || errors < 1)
      throw new ToolError(
        "invalid_argument",
        `The emergency stop takes an integer from 1, the number of errors, not ${quoteValue(errors)}.`,
      );
    this.#limit = errors;
  }

  /** Counts a result. Calls that were cancelled, skipped or wait for approval are ignored. */
  record(result: ToolResult): void {
    checkResult(result, "record() of an emergency stop");
    const { status, error } = result;
    if (this.stopped || status === "cancelled" || status === "skipped" || error?.code === "approval_required") return;
    if (status !== "error") return void (this.#errors = 0);
    this.#errors++;
    this.#lastFailure = `${result.name}: ${error.message}`;
  }

  get stopped(): boolean {
    return this.#errors >= this.#limit;
  }

  /** The reason as text for people; undefined if not stopped. */
  get reason(): string | undefined {
    return this.stopped ? `${plural(this.#errors, "call")} failed in a row, the last one ${this.#lastFailure}` : undefined;
  }

  /** Allows runs again, and resets the count. */
  clear(): void {
    this.#errors = 0;
    this.#lastFailure = "";
  }
}
