import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { runProgram } from "../../src/processes/run-program.ts";

const LIMITS = { timeoutMs: 20_000, maxMemoryBytes: 2 ** 31, maxProcesses: 64, maxFileBytes: 2 ** 20, maxOutputBytes: 2 ** 20 };

describe.skipIf(process.platform === "win32")("a program", () => {
  test("runs with limits enforced by the kernel, and with its outputs merged", async () => {
    const end = await runProgram({
      program: "/bin/sh",
      args: ["-c", "ulimit -n; ulimit -c; ulimit -f; echo problem >&2"],
      folder: tmpdir(),
      environment: { PATH: process.env["PATH"] ?? "" },
      limits: LIMITS,
      mergesStderr: true,
      clock: systemPorts.clock,
      signal: new AbortController().signal,
    });
    expect(end).toEqual({
      exitCode: 0,
      stop: undefined,
      output: "4096\n0\n2048\nproblem\n",
      errorOutput: "",
      leftOutChars: 0,
    });
  });
});
