/** Turns errors of the file system into errors that a model can act on. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";

interface Explanation {
  readonly code: ErrorCode;
  readonly text: string;
  readonly hint?: string;
  readonly retryable?: boolean;
}

const EXPLANATIONS: ReadonlyMap<string, Explanation> = new Map<string, Explanation>([
  [
    "ENOENT",
    { code: "execution_failed", text: "it does not exist", hint: "List the folder, or look for the name with a glob such as **/name.*." },
  ],
  ["ENOTDIR", { code: "execution_failed", text: "a part of the path is a file, not a folder" }],
  ["EISDIR", { code: "execution_failed", text: "it is a folder", hint: "Give the path of a file." }],
  ["ELOOP", { code: "execution_failed", text: "the path contains a circular link, or became a link while it was opened" }],
  ["ENXIO", { code: "execution_failed", text: "it is a socket or device, not a regular file" }],
  ["EACCES", { code: "permission_denied", text: "the operating system does not allow it" }],
  ["EPERM", { code: "permission_denied", text: "the operating system does not allow it" }],
  ["ERR_ACCESS_DENIED", { code: "permission_denied", text: "node --permission does not allow it" }],
  ["EROFS", { code: "permission_denied", text: "the disk is read-only" }],
  ["ENAMETOOLONG", { code: "invalid_input", text: "a name in the path is too long", hint: "A name may have 255 bytes." }],
  ["ENOSPC", { code: "execution_failed", text: "the disk is full" }],
  [
    "EBUSY",
    { code: "execution_failed", text: "it is a mount point, or in use, and cannot be replaced", hint: "Ask the user to change it." },
  ],
  ["EDQUOT", { code: "execution_failed", text: "the disk quota is used up" }],
  ["EMFILE", { code: "execution_failed", text: "too many files are open", retryable: true }],
  ["ENFILE", { code: "execution_failed", text: "too many files are open", retryable: true }],
]);

/** Returns the reason of a file system error as text, without the path, which is part of the surrounding message. */
export function describeSystemError(thrown: unknown): string {
  return EXPLANATIONS.get(systemErrorCode(thrown) ?? "")?.text ?? describeThrown(thrown);
}

/**
 * Explains a failure of the file system: `Cannot read "a.txt": it does not exist.`
 *
 * Returns a ToolError unchanged. The outcome is `failed`: files are replaced in one step at the very end, so an error before that changed nothing.
 */
export function fileError(thrown: unknown, action: { readonly verb: string; readonly shown: string }): ToolError {
  if (thrown instanceof ToolError) return thrown;
  const systemError = systemErrorCode(thrown);
  if (systemError === undefined) return ToolError.fromUnknown(thrown);
  const { code, text, hint, retryable } = EXPLANATIONS.get(systemError) ?? {
    code: "execution_failed",
    text: `the file system reported ${systemError}`,
  };
  return new ToolError(code, `Cannot ${action.verb} ${JSON.stringify(action.shown)}: ${text}.`, {
    outcome: "failed",
    cause: thrown,
    ...omitUndefined({ hint, retryable }),
  });
}

/** Returns the error of a call that was refused or failed without changing anything. */
export function refusalError(message: string, hint?: string): ToolError {
  return new ToolError("execution_failed", message, { outcome: "failed", ...(hint === undefined ? {} : { hint }) });
}
