/**
 * The rooms above `runtime/` and the examples use no `@internal` name of the rooms below: they are compiled against the declarations that
 * the package ships, in which those names do not stand. So whatever the loop can do, a program that writes its own loop can do as well.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { testInCI } from "../test-in-ci.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** `runtime/`, and the rooms that it may import: a room that is not named here is held to the rule. */
const LOWER = ["core", "schema", "store", "documents", "net", "processes", "policy", "trust", "history", "wire", "engine"];
const LOWER_ROOMS: readonly string[] = [...LOWER, "registry", "session", "call", "runtime", "model"];

/** Breaks the rule by a member, by a member of a base class and by a function. */
const PROBE = `
import { partsOf } from "${root}src/runtime/runtime-session.ts";
import type { RuntimeSession } from "${root}src/runtime/runtime-session.ts";
export const found = (session: RuntimeSession): readonly unknown[] => [session.submissions, session.tally, partsOf(session), session.registry];
`;

testInCI(
  "the folders above runtime/ and the examples use only public members",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "haft-public-members-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const upperRooms = readdirSync(join(root, "src")).filter((room) => !LOWER_ROOMS.includes(room));
    writeFileSync(join(folder, "probe.mts"), PROBE);
    const options = { noEmit: false, rewriteRelativeImportExtensions: false, typeRoots: [join(root, "node_modules/@types")] };
    const declarations = {
      composite: true,
      declaration: true,
      emitDeclarationOnly: true,
      stripInternal: true,
      noCheck: true,
      outDir: "declarations",
    };
    project(folder, "lower.json", {
      compilerOptions: { ...options, ...declarations, rootDir: join(root, "src") },
      include: LOWER_ROOMS.map((room) => join(root, "src", room)),
    });
    project(folder, "upper.json", {
      compilerOptions: { ...options, noEmit: true },
      include: ["probe.mts", join(root, "examples"), ...upperRooms.map((room) => join(root, "src", room))],
      references: [{ path: "./lower.json" }],
    });
    expect(errorsOf(folder)).toEqual([
      "probe.mts: TS2305: Module '\"src/runtime/runtime-session.ts\"' has no exported member 'partsOf'.",
      "probe.mts: TS2339: Property 'submissions' does not exist on type 'RuntimeSession'.",
      "probe.mts: TS2339: Property 'tally' does not exist on type 'RuntimeSession'.",
    ]);
  },
  180_000,
);

function project(folder: string, name: string, config: object): void {
  writeFileSync(join(folder, name), JSON.stringify({ extends: join(root, "tsconfig.json"), ...config }));
}

/** What the compiler says, each with its file and without its place. */
function errorsOf(folder: string): readonly string[] {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [compiler, "--build", "upper.json", "--singleThreaded", "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  const lines = stdout.split("\n").filter((line) => line.includes("error TS"));
  return lines
    .map((line) =>
      line
        .replace(relative(folder, root), "")
        .replace(root, "")
        .replace(/\(\d+,\d+\): error /u, ": "),
    )
    .toSorted();
}
