/** The rules of the house as one function over a tree of files: what breaks them, one line each. */
import { dirname } from "node:path/posix";
import { importsOf, resolvePath, type SourceTree } from "./source-tree.ts";

export interface HouseRules {
  /** Each room's floor. A room is a folder of `src/`, or a file beside the folders. */
  readonly floors: Readonly<Record<string, number>>;
  /** Of rooms whose folders may not all import each other: the floor of each folder, and of the files beside them as `.`. */
  readonly folderFloors: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Rooms and single files that may reach files, processes and sockets. */
  readonly worldly: readonly string[];
  /** Packages that may not be loaded with `src/index.ts`. */
  readonly late: readonly string[];
  readonly maxLines: number;
  /** In one folder, without those in its folders. */
  readonly maxFiles: number;
}

const WORLD = /^node:(?:fs|child_process|net|tls|http|https|http2|dgram|dns|cluster|worker_threads|sqlite)(?:\/|$)/u;
const VAGUE_NAMES: ReadonlySet<string> = new Set(["utils", "util", "helpers", "helper", "common", "types", "misc", "shared"]);

export function checkArchitecture(tree: SourceTree, rules: HouseRules): readonly string[] {
  const problems: string[] = [];
  for (const [path, text] of tree) {
    checkFile(path, text, rules, problems);
    for (const { specifier } of importsOf(text)) {
      if (specifier.startsWith(".")) checkRelative(path, specifier, { tree, rules, problems });
      else checkPackage(path, specifier, rules, problems);
    }
  }
  return [...problems, ...findLargeFolders(tree, rules), ...findCircles(tree), ...findEarlyLoads(tree, rules.late)];
}

function checkFile(path: string, text: string, rules: HouseRules, problems: string[]): void {
  const lines = text.split("\n").length - 1;
  if (lines > rules.maxLines) problems.push(`${path}: ${lines} lines; ${rules.maxLines} is the limit`);
  if (roomOf(path) !== "dashboard" && /\bcurrentTarget\b/u.test(text))
    problems.push(`${path}: Node.js sets currentTarget for the first listener alone; read target`);
  if (rules.floors[roomOf(path)] === undefined) problems.push(`${path}: the room ${roomOf(path)} is on no floor`);
  for (const name of path.replace(/\.tsx?$/u, "").split("/")) {
    if (VAGUE_NAMES.has(name)) problems.push(`${path}: "${name}" says nothing about what is inside`);
    else if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/u.test(name)) problems.push(`${path}: "${name}" is not kebab-case`);
  }
}

interface Surroundings {
  readonly tree: SourceTree;
  readonly rules: HouseRules;
  readonly problems: string[];
}

function checkRelative(path: string, specifier: string, { tree, rules, problems }: Surroundings): void {
  const target = resolvePath(path, specifier);
  const [room, targetRoom] = [roomOf(path), roomOf(target)];
  if (/\.(?:css|svg)$/u.test(specifier)) return; // what only a page has
  if (!/\.tsx?$/u.test(specifier)) problems.push(`${path}: import "${specifier}" lacks its extension .ts`);
  else if (!tree.has(target)) problems.push(`${path}: import "${specifier}" leads to no file`);
  else if (target.endsWith("/index.ts")) problems.push(`${path}: imports an index, ${target}`);
  else if (room !== targetRoom && (rules.floors[room] ?? 0) <= (rules.floors[targetRoom] ?? 0)) {
    problems.push(`${path}: ${room} (floor ${rules.floors[room]}) may not import ${target} (floor ${rules.floors[targetRoom]})`);
  } else if (room === targetRoom) checkFolders(path, target, rules.folderFloors[room], problems);
}

function checkFolders(path: string, target: string, floors: HouseRules["folderFloors"][string] | undefined, problems: string[]): void {
  const [folder, targetFolder] = [folderOf(path), folderOf(target)];
  if (floors === undefined || folder === targetFolder) return;
  const [floor, targetFloor] = [floors[folder], floors[targetFolder]];
  if (floor !== undefined && targetFloor !== undefined && floor > targetFloor) return;
  problems.push(`${path}: the folder ${folder} (floor ${floor}) may not import ${target} (floor ${targetFloor})`);
}

function checkPackage(path: string, specifier: string, rules: HouseRules, problems: string[]): void {
  if (WORLD.test(specifier) && !rules.worldly.includes(path) && !rules.worldly.includes(roomOf(path))) {
    problems.push(`${path}: ${specifier} reaches the outside world; only ${rules.worldly.join(", ")} may`);
  }
}

function roomOf(path: string): string {
  return path.split("/")[1] ?? path;
}

/** The folder of its room in which a file is, `.` where it is in none. */
function folderOf(path: string): string {
  const parts = path.split("/");
  return parts.length > 3 ? (parts[2] ?? ".") : ".";
}

function findLargeFolders(tree: SourceTree, { maxFiles }: HouseRules): readonly string[] {
  const counts = new Map<string, number>();
  for (const path of tree.keys()) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts].flatMap(([folder, count]) =>
    count > maxFiles ? [`${folder}: ${count} files; with more than ${maxFiles}, folders say where to look`] : [],
  );
}

/** Each circle of imports once, type imports included. */
function findCircles(tree: SourceTree): readonly string[] {
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) circles.push(`circle: ${[...trail.slice(start), path].join(" → ")}`);
    if (start >= 0 || finished.has(path)) return;
    for (const { specifier } of importsOf(tree.get(path) ?? "")) {
      if (specifier.startsWith(".")) visit(resolvePath(path, specifier), [...trail, path]);
    }
    finished.add(path);
  };
  for (const path of tree.keys()) visit(path, []);
  return circles;
}

/** The packages that loading these entries would load although they are to wait until they are used. */
function findEarlyLoads(tree: SourceTree, late: readonly string[]): readonly string[] {
  return ["src/index.ts", "src/store/sqlite-store.ts"].flatMap((entry) => (tree.has(entry) ? earlyLoadsOf(entry, tree, late) : []));
}

function earlyLoadsOf(entry: string, tree: SourceTree, late: readonly string[]): readonly string[] {
  const problems: string[] = [];
  const reached = new Set([entry]);
  for (const path of reached) {
    for (const { specifier, kind } of importsOf(tree.get(path) ?? "")) {
      if (kind !== "static") continue;
      if (specifier.startsWith(".")) reached.add(resolvePath(path, specifier));
      else if (late.some((name) => specifier === name || specifier.startsWith(`${name}/`))) {
        problems.push(`${path}: ${specifier} is loaded by ${entry}; import it where it is used`);
      }
    }
  }
  return problems;
}
