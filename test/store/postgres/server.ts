/** A PostgreSQL server of a test's own: in a folder that goes with it, on a free port of loopback, run by a user without rights. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import pg from "pg";

/** The user that the server's first role is named after. */
const ROLE = "haft";
export const PASSWORD = "very-secret-word";

export interface PostgresServer {
  /** Of the database `postgres`. */
  readonly url: string;
  readonly version: string;
  readonly pid: number;
  /** Stops at once, as after a loss of power, and starts again on the same port. */
  restart(): Promise<void>;
  /** Stops at once. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Runs statements with all rights. */
  execute(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Stops and removes everything. */
  remove(): Promise<void>;
}

/** The folder of the server's programs; undefined where PostgreSQL is not installed, or HAFT_NO_POSTGRES asks for none. */
export const postgresPrograms: string | undefined = process.env["HAFT_NO_POSTGRES"] === undefined ? findPrograms() : undefined;

function findPrograms(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((one, other) => Number(other) - Number(one)) : [];
  const folders = [...versions.map((version) => join(debian, version, "bin")), ...(process.env["PATH"] ?? "").split(delimiter)];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/**
 * @param settings of `postgresql.conf`, by name
 * @param login `trust` asks for no password, which is quicker for a test that connects hundreds of times
 */
export async function startPostgres(
  settings: Readonly<Record<string, string | number>> = {},
  login: "scram-sha-256" | "trust" = "scram-sha-256",
): Promise<PostgresServer> {
  if (postgresPrograms === undefined) throw new Error("PostgreSQL is not installed.");
  const programs = postgresPrograms;
  const folder = mkdtempSync(join(tmpdir(), "haft-pg-"));
  const user = serverUser();
  chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  const initial = ["-D", data, "-U", ROLE, "-A", login, `--pwfile=${passwordFile}`, "-E", "UTF8", "--locale=C", "--no-sync"];
  execFileSync(join(programs, "initdb"), initial, { ...user, cwd: folder, stdio: ["ignore", "ignore", "inherit"], env: {} });
  const port = await freePort();
  const url = `postgres://${ROLE}:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const all = { listen_addresses: "127.0.0.1", port, unix_socket_directories: folder, fsync: "off", shared_buffers: "32MB", ...settings };
  const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const env = { LC_ALL: "C", PATH: process.env["PATH"] };
    server = spawn(join(programs, "postgres"), ["-D", data, ...options], { ...user, cwd: folder, stdio: "ignore", env });
    await answers(url, server);
  }

  async function stop(): Promise<void> {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGQUIT");
    await ended;
  }

  async function execute(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  await start();
  return {
    url,
    version: String((await execute("show server_version"))[0]?.["server_version"]),
    get pid() {
      return server?.pid ?? -1;
    },
    start,
    stop,
    execute,
    async restart() {
      await stop();
      await start();
    },
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root. */
export function serverUser(): { readonly uid: number; readonly gid: number } {
  if (process.geteuid?.() !== 0) return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  try {
    const id = (what: string): number =>
      Number(execFileSync("id", [what, "postgres"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return { uid: 65_534, gid: 65_534 };
  }
}

export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  listener.close();
  await once(listener, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Resolves when the server takes connections. */
async function answers(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with exit code ${server.exitCode}.`);
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query("select 1");
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      await client.end().catch(() => {});
    }
  }
}
