#!/usr/bin/env node
/** The program `haft`: starts on a Node that can run it, and says so on one that cannot. */
import { tooOld } from "../core/node-version.ts";

const problem = tooOld(process.versions);
if (problem === undefined) {
  // Not imported above: on an old Node already the import of the rest fails.
  await import("./process-run.ts");
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
