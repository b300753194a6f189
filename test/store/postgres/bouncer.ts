/** A PgBouncer of a test's own in front of a server whose login is `trust`. */
import { spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import pg from "pg";
import { freePort, serverUser } from "./server.ts";

/** Undefined where it is not installed. */
export const bouncerProgram: string | undefined = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
  .map((folder) => join(folder, "pgbouncer"))
  .find((file) => existsSync(file));

export async function startBouncer(
  serverUrl: string,
  mode: "session" | "transaction",
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  if (bouncerProgram === undefined) throw new Error("PgBouncer is not installed.");
  const folder = mkdtempSync(join(tmpdir(), "haft-bouncer-"));
  const user = serverUser();
  chownSync(folder, user.uid, user.gid);
  const server = new URL(serverUrl);
  const port = await freePort();
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: mode,
    ignore_startup_parameters: "extra_float_digits",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const databases = `[databases]\npostgres = host=127.0.0.1 port=${server.port} dbname=postgres user=${server.username}`;
  writeFileSync(join(folder, "bouncer.ini"), `${databases}\n[pgbouncer]\n${lines.join("\n")}\n`);
  const program = spawn(bouncerProgram, [join(folder, "bouncer.ini")], { ...user, cwd: folder, stdio: "ignore", env: {} });
  const url = `postgres://${server.username}@127.0.0.1:${port}/postgres`;
  for (let isThere = false; !isThere;) {
    if (program.exitCode !== null) throw new Error(`PgBouncer ended with exit code ${program.exitCode}.`);
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on("error", () => {});
    isThere = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => {});
  }
  return {
    url,
    async stop() {
      if (program.exitCode === null) {
        program.kill("SIGKILL");
        await once(program, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
