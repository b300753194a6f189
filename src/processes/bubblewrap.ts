/** The sandbox on Linux: bubblewrap, with separate namespaces for files, processes, network and the rest. */
import { execFile } from "node:child_process";
import { accessSync, constants, lstatSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { ToolError } from "../core/error.ts";

/** The files and the network that a sandboxed program can use. All paths are absolute and real. */
export interface SandboxPolicy {
  /** The folder that the program may change. */
  readonly workspace: string;
  /** Files and folders that the program may read, besides the programs and libraries of the system. */
  readonly readable: readonly string[];
  /** More folders that the program may change. */
  readonly writable: readonly string[];
  readonly network: boolean;
  /** Size of the folder for temporary files, which is in memory, in bytes. */
  readonly temporaryBytes: number;
}

/**
 * A path in the workspace with different rights. `hidden`: cannot be opened; `readOnly`; `pinned`: a folder that can be changed but not
 * renamed, so that a folder with such a path inside cannot be replaced by another.
 */
export interface SandboxException {
  readonly path: string;
  readonly kind: "hidden" | "readOnly" | "pinned";
  /** Descriptor of the open path, so that nothing else can take its place. bubblewrap closes it; it is not passed for `hidden` paths. */
  readonly fd: number;
  readonly isFolder: boolean;
}

/** An installed bubblewrap that was tested successfully. */
export interface Bubblewrap {
  readonly path: string;
  /** Paths in /proc through which the owner of this process could change the machine. */
  readonly covers: readonly string[];
}

const INSTALL_HINT = 'Install bubblewrap ("apt install bubblewrap", "dnf install bubblewrap", "apk add bubblewrap")';
const NO_SANDBOX_HINT = 'or run without a sandbox: sandbox = "none" in the configuration, { sandbox: "none" } in a program.';
/** The newest of the options in use, to detect old versions. `--ro-bind-fd` came with the fix of CVE-2024-42472 and its backports. */
const REQUIRED_OPTIONS = ["--disable-userns", "--size", "--seccomp", "--ro-bind-fd"];
const PROBE_TIMEOUT_MS = 10_000;
const TEMPORARY_FOLDER = "/tmp";

/** Folders of programs and libraries. Symbolic links stay links. */
const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Files and folders in /etc that programs need and that hold no secrets. */
const SYSTEM_SETTINGS = `alternatives ld.so.cache ld.so.conf ld.so.conf.d localtime timezone mime.types nsswitch.conf passwd group ssl/certs
  ssl/openssl.cnf ca-certificates pki/tls/certs pki/ca-trust/extracted crypto-policies/back-ends terminfo`.split(/\s+/u);
const NETWORK_SETTINGS = ["resolv.conf", "hosts", "host.conf", "services", "protocols", "gai.conf"];

const run = promisify(execFile);

/** Finds bubblewrap and tests it. @throws ToolError `unavailable` with what to install or allow, as a rejection */
export async function findBubblewrap(signal: AbortSignal): Promise<Bubblewrap> {
  if (process.platform !== "linux")
    throw unavailable(`The sandbox needs Linux and bubblewrap; this is ${process.platform}.`, `Use Linux, ${NO_SANDBOX_HINT}`);
  const path = findProgram("bwrap", sortSystemFirst(process.env["PATH"] ?? ""));
  if (path === undefined)
    throw unavailable('The sandbox needs bubblewrap, but "bwrap" was not found.', `${INSTALL_HINT}, ${NO_SANDBOX_HINT}`);
  const options = { timeout: PROBE_TIMEOUT_MS, signal, env: { PATH: process.env["PATH"] ?? "" } };
  const help = await run(path, ["--help"], options).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => "",
  );
  const missing = REQUIRED_OPTIONS.filter((option) => !help.includes(option));
  if (missing.length > 0)
    throw unavailable(`${path} is too old for the sandbox: it has no ${missing.join(", ")}.`, `Install a newer one, ${NO_SANDBOX_HINT}`);
  const found: Bubblewrap = { path, covers: procCovers() };
  const policy = { workspace: TEMPORARY_FOLDER, readable: [], writable: [], network: false, temporaryBytes: 1024 * 1024 };
  try {
    await run(path, [...isolationArguments(policy), ...mountArguments(found, policy), "--", "/bin/sh", "-c", ":"], options);
  } catch (error: unknown) {
    const { stderr } = error as { readonly stderr?: string }; // what execFile rejects with
    throw unavailable(
      `${path} cannot create a sandbox here: ${(stderr ?? String(error)).trim()}`,
      `${formatReason(stderr ?? "")}, ${NO_SANDBOX_HINT}`,
    );
  }
  return found;
}

/** Returns the arguments of bubblewrap before the program: its isolation and its mounts. */
export function sandboxArguments(
  found: Bubblewrap,
  policy: SandboxPolicy,
  more: { readonly folder: string; readonly exceptions: readonly SandboxException[]; readonly seccompFd: number | undefined },
): readonly string[] {
  const { workspace, readable, writable } = policy;
  return [
    ...isolationArguments(policy),
    ...(more.seccompFd === undefined ? [] : ["--seccomp", String(more.seccompFd)]),
    ...mountArguments(found, policy),
    ...sortByDepth(readable).flatMap((path) => ["--ro-bind", path, path]),
    ...findOutermost([workspace, ...writable]).flatMap((path) => ["--bind", path, path]),
    ...more.exceptions.flatMap(exceptionArguments),
    "--remount-ro",
    "/",
    "--chdir",
    more.folder,
    "--",
  ];
}

/** Returns the path of a program that may be named without its folder; undefined if there is none. */
export function findProgram(name: string, path: string): string | undefined {
  const candidates = name.includes("/") ? [name] : path.split(delimiter).map((folder) => join(folder, name));
  return candidates.find((candidate) => isAbsolute(candidate) && isExecutable(candidate));
}

/** Puts the system's folders of `PATH` first: a model may be able to write to others, and the result is used outside of the sandbox. */
export function sortSystemFirst(path: string): string {
  const isOfUser = (folder: string): number => (/^(?:\/usr(?:\/local)?)?\/s?bin\/?$/u.test(folder) ? 0 : 1);
  return path
    .split(delimiter)
    .toSorted((one, other) => isOfUser(one) - isOfUser(other))
    .join(delimiter);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isolationArguments({ network }: SandboxPolicy): readonly string[] {
  const namespaces = ["--unshare-all", "--unshare-user", "--disable-userns", ...(network ? ["--share-net"] : [])];
  return [...namespaces, "--die-with-parent", "--hostname", "sandbox", "--cap-drop", "ALL"];
}

function mountArguments({ covers }: Bubblewrap, { network, temporaryBytes }: SandboxPolicy): readonly string[] {
  const settings = [...SYSTEM_SETTINGS, ...(network ? NETWORK_SETTINGS : [])].map((name) => `/etc/${name}`);
  const size = String(temporaryBytes);
  return [
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...settings.flatMap((path) => ["--ro-bind-try", path, path]),
    ..."--proc /proc".split(" "),
    ...covers.flatMap((path) => ["--ro-bind", path, path]),
    ...`--dev /dev --size ${size} --tmpfs /dev/shm --remount-ro /dev`.split(" "),
    ...[TEMPORARY_FOLDER, "/var/tmp"].flatMap((path) => ["--size", size, "--perms", "1777", "--tmpfs", path]),
  ];
}

function systemFolder(path: string): readonly string[] {
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (info === undefined) return [];
  return info.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}

function exceptionArguments({ path, kind, fd, isFolder }: SandboxException): readonly string[] {
  if (kind === "readOnly") return ["--ro-bind-fd", String(fd), path];
  if (kind === "pinned") return ["--bind-fd", String(fd), path];
  return isFolder ? ["--perms", "0000", "--tmpfs", path, "--remount-ro", path] : ["--ro-bind", "/dev/null", path];
}

/** Sorts outer folders first, so that folders inside them are mounted over them. */
function sortByDepth(paths: readonly string[]): readonly string[] {
  return paths.toSorted((one, other) => one.length - other.length);
}

/** Removes paths inside other ones: an earlier program may have replaced them by a link, which a mount would follow out of the sandbox. */
export function findOutermost(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => !paths.some((other) => path.startsWith(`${other}/`)));
}

/**
 * Returns the paths in /proc that the owner of their files could write to. Root could leave its namespace through them, since its user id
 * counts there (core_pattern names a program that the kernel runs outside). bubblewrap covers only some of them.
 */
function procCovers(): readonly string[] {
  return readdirSync("/proc").flatMap((name) => {
    if (/^\d+$/u.test(name)) return [];
    const path = `/proc/${name}`;
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (info === undefined || info.isSymbolicLink()) return [];
    return info.isDirectory() || (info.mode & 0o222) !== 0 ? [path] : [];
  });
}

function formatReason(stderr: string): string {
  if (/uid map|apparmor/iu.test(stderr))
    return "Allow bwrap to create user namespaces (on Ubuntu an AppArmor profile for it, or sysctl kernel.apparmor_restrict_unprivileged_userns=0)";
  if (/namespace|not permitted|\/proc/iu.test(stderr))
    return "Allow user namespaces (in a container: a seccomp profile that has unshare and mount, and an unmasked /proc)";
  return "Check the message of bubblewrap";
}

function unavailable(message: string, operatorHint: string): ToolError {
  return new ToolError("unavailable", message, { operatorHint, retryable: false });
}
