/** Runs one command of the demo in a child process. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Resolves to the exit code, or null when the child was killed. A request to end this process is passed on to the child. */
export function runHaft(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<number | null> {
  const child = spawn(process.execPath, ["--conditions=haft-source", program, ...args], {
    stdio: "inherit",
    env: { ...process.env, ...environment },
  });
  const stop = (): void => void child.kill("SIGTERM");
  process.once("SIGTERM", stop);
  return new Promise((resolve) =>
    child.on("close", (code) => {
      process.removeListener("SIGTERM", stop);
      resolve(code);
    }),
  );
}
