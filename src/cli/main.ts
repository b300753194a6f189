#!/usr/bin/env node
/** The program `haft`: checks the version of Node, then loads the rest. */
import { findNodeVersionProblem } from "../core/system/node-version.ts";

const problem = findNodeVersionProblem(process.versions);
if (problem === undefined) {
  // Not a static import: on an old version of Node that would fail before the check.
  await import("./process-run.ts");
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
