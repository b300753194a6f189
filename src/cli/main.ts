#!/usr/bin/env node
/** The command `haft`. */
import { createInterface } from "node:readline/promises";
import { ERROR_CODES, ToolError } from "../core/error.ts";
import { runCli } from "./run-cli.ts";

/** A second Ctrl-C ends the process at once. */
const controller = new AbortController();
process.on("SIGINT", () => {
  if (controller.signal.aborted) process.exit(ERROR_CODES.cancelled.exit);
  controller.abort(new ToolError("cancelled", "Ctrl-C"));
});
process.on("SIGTERM", () => controller.abort(new ToolError("cancelled", "SIGTERM")));
// A reader that goes away, such as `head`, is no error of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

async function ask(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question, { signal });
  } finally {
    lines.close();
  }
}

process.exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  readStdin,
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
  folder: process.cwd(),
  environment: process.env,
  signal: controller.signal,
});
