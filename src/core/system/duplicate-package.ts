/** Errors that occur if a program contains two copies of this package, for example one that a library installed. */
import { ToolError } from "../error.ts";

/** Hint for the operator, if a refused object may be of another copy. */
export const ONE_COPY_HINT =
  "An object of another copy of haft does not work here: npm ls haft lists the copies. Use one version, and npm dedupe; a library that takes the runtime, tools or sessions of a program must list haft under peerDependencies.";

/**
 * Returns the error for an object that must be of this copy's class. Errors, outputs, tools, stores and models of any copy work: see `shareClass`.
 */
export function duplicatePackageError(message: string): ToolError {
  return new ToolError("unavailable", message, { operatorHint: ONE_COPY_HINT });
}
