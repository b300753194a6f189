/** An error that fails a request as a whole, with its own status and headers. */
import type { ErrorCode } from "../../core/error-codes.ts";
import { ToolError, type ToolErrorOptions } from "../../core/error.ts";

interface HttpErrorOptions extends ToolErrorOptions {
  readonly headers?: Readonly<Record<string, string>>;
}

export class HttpError extends ToolError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: ErrorCode, message: string, { headers = {}, ...options }: HttpErrorOptions = {}) {
    super(code, message, options);
    this.status = status;
    this.headers = headers;
  }
}
