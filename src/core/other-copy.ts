/** Two copies of this package in one program: a library installed one, and the program another. */
import { ToolError } from "./error.ts";

/** For the operator, where an object is refused that may be of another copy. */
export const ONE_COPY =
  "An object of another copy of haft does not work here: npm ls haft lists the copies. Use one version, and npm dedupe; a library that takes the runtime, tools or sessions of a program names haft under peerDependencies.";

/** The error where an object needs the class of this copy. Errors, outputs, tools, stores and models of another copy work: see `shareClass`. */
export function otherCopyError(message: string): ToolError {
  return new ToolError("unavailable", message, { operatorHint: ONE_COPY });
}
