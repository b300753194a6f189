import { fileURLToPath } from "node:url";

/** The package as the tests of programs run it, made anew before they begin. */
export const BUNDLE = fileURLToPath(new URL("../node_modules/.cache/haft-tests/package", import.meta.url));

/** Dependencies that are put into a bundle, so that a process reads few files. */
export const INLINED: readonly string[] = ["get-east-asian-width", "kysely", "smol-toml", "yaml"];

/** The command line. */
export const HAFT = `${BUNDLE}/dist/cli/main.js`;

/** Programs of tests, which are bundled with the package. From their source each would read and strip a few hundred files. */
export const PROGRAMS = [
  "call/stopped-process",
  "compose/delegate/delegate-process",
  "compose/round-gap-process",
  "conformance/mcp-client",
  "conformance/mcp-server",
  "engine/mcp/task-client-process",
  "fixtures/fleet-host",
  "fixtures/mcp-host",
  "runtime/approvals/approval-process",
  "runtime/jobs/job-process",
  "runtime/waits/waiting-program",
  "runtime/worlds/crash-child",
  "server/fleet/fleet-node",
  "server/mcp-printing-process",
  "server/mcp-task-process",
  "server/worker/worker-process",
  "store/lease-process",
  "store/store-process",
  "toolsets/edit-process",
] as const;

/** The file that runs a program of the tests; its source where a script runs it, before which nothing is bundled. */
export function bundledProgram(name: (typeof PROGRAMS)[number]): string {
  return process.env["VITEST"] === undefined ? fileURLToPath(new URL(`${name}.ts`, import.meta.url)) : `${BUNDLE}/dist/tests/${name}.js`;
}
