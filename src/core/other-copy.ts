/** Two copies of this package in one program: a library installed one, and the program another. */
import { ToolError } from "./error.ts";

const HINT =
  "Two copies of haft are installed: npm ls haft lists them. Use one version, and npm dedupe; a library that takes tools or sessions of a program names haft under peerDependencies.";

/** The error where an object needs the class of this copy. Errors, outputs, tools, stores and models of another copy work: see `shareClass`. */
export function otherCopyError(message: string): ToolError {
  return new ToolError("unavailable", message, { operatorHint: HINT });
}
