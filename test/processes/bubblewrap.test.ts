/** The arguments of the sandbox, as the kernel keeps to them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { findBubblewrap, sandboxArguments } from "../../src/processes/bubblewrap.ts";
import { signalGroup } from "../../src/processes/process-guard.ts";
import { HAS_SANDBOX, SANDBOX, folderWith, isRunning } from "../toolsets/programs/program-room.ts";

test.skipIf(!HAS_SANDBOX)(`a sandbox ends with the process that started it, without another process watching it${SANDBOX}`, async () => {
  const workspace = folderWith();
  const policy = { workspace, readable: [], writable: [], network: false, temporaryBytes: 1024 * 1024 };
  const found = await findBubblewrap(new AbortController().signal);
  const sandbox = sandboxArguments(found, policy, { folder: workspace, exceptions: [], seccompFd: undefined });
  const seconds = String(400_000_000 + process.pid);
  const program = ["/bin/sh", "-c", `setsid sleep ${seconds} & echo begun; wait`];
  const host = spawn("/bin/sh", ["-c", '"$@" & wait', "host", found.path, ...sandbox, ...program], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  onTestFinished(() => void (host.pid !== undefined && signalGroup(host.pid, "SIGKILL")));
  await once(host.stdout, "data");
  await expect.poll(() => isRunning(`sleep ${seconds}`)).toBe(true);
  host.kill("SIGKILL");
  await expect.poll(() => isRunning(`sleep ${seconds}`), { timeout: 10_000 }).toBe(false);
});
