/** Toolsets that run what a model writes: commands of a shell, and Python. @packageDocumentation */
import { execFile } from "node:child_process";
import { basename, dirname, join, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { checkName } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { findProgram } from "../processes/bubblewrap.ts";
import { canonicalPath, isInsideFolder } from "./files/workspace-path.ts";
import { PROGRAM_OPTIONS, programSettings, type ProgramOptions, type ProgramSettings } from "./programs/program-options.ts";
import { BEYOND_MS, ProgramRunner, programEffects, type ProgramCall } from "./programs/program-runner.ts";
import { waitsFor } from "./programs/waiting-commands.ts";

export type { ProgramOptions, SandboxKind } from "./programs/program-options.ts";

/** Options of `shellToolset`. */
export interface ShellOptions extends ProgramOptions {
  /** The shell of commands that name none: a name, or the path of one. @default "bash", or "sh" where there is no bash */
  readonly shell?: string;
}

/** Options of `pythonToolset`. */
export interface PythonOptions extends ProgramOptions {
  /**
   * The interpreter: a name, or the path of one such as `.venv/bin/python`. One in the workspace is
   * run in the sandbox only, and may be that of a virtual environment. @default "python3"
   */
  readonly python?: string;
}

/** The kernel takes arguments of at most 128 KiB. */
const MAX_TEXT = 30_000;
const SHELLS = ["bash", "sh", "zsh"];

/**
 * The tool `bash`: runs a command in a shell, in the workspace.
 *
 * Each command is a process of its own, with an empty input and few variables; it ends with all that it started, also what went into the
 * background or made a session of its own. Its output is given out as it comes (`context.output`) and is the result, standard error included; an exit code other than 0
 * is an error that keeps it. A command whose time is up is sent SIGTERM, then SIGKILL after 3 s, and ends with what it had written and the exit code -1.
 *
 * In the sandbox it can change the workspace only, and read the workspace and the programs of the system; it has no network unless
 * `network` is set. Files that other programs obey are read-only there, and those that keep credentials cannot be opened, up to three folders deep, as far as
 * they exist when it starts; not in `node_modules`, `venv` and `.venv`, and in `vendor`, `target`, `dist` and `build` credentials only. Its effects
 * are the files of the workspace; without a sandbox they are undeclared. Approval is asked either way.
 *
 * @throws ToolError `invalid_config` when the root is not a folder, `invalid_argument` for other options. Opening fails with `unavailable` where the
 * sandbox cannot be made
 */
export function shellToolset(options: ShellOptions): Toolset {
  checkKnownKeys<ShellOptions>(options, { ...PROGRAM_OPTIONS, shell: true }, "shellToolset()");
  const { name = "shell", shell } = options;
  checkName(name, "toolset");
  const settings = programSettings(options);
  const runner = new ProgramRunner(settings);
  return {
    name,
    description: `Commands in the folder ${settings.root}.`,
    tools: [bashTool(settings)],
    engine: programEngine("shell", runner, {
      call: (input) => shellCall(input, { runner, shell }),
    }),
  };
}

/**
 * The tool `python`: runs Python code, or a file of the workspace, by the interpreter of the system. In all else as `shellToolset`.
 *
 * @throws ToolError as `shellToolset`. Opening fails with `unavailable` where there is no Python as well
 */
export function pythonToolset(options: PythonOptions): Toolset {
  checkKnownKeys<PythonOptions>(options, { ...PROGRAM_OPTIONS, python: true }, "pythonToolset()");
  const { name = "python", python = "python3" } = options;
  checkName(name, "toolset");
  const settings = programSettings(options);
  const runner = new ProgramRunner(settings);
  let interpreter: string | undefined;
  return {
    name,
    description: `Python in the folder ${settings.root}.`,
    tools: [pythonTool(settings)],
    engine: programEngine("python", runner, {
      async open({ signal }) {
        const found = await findPython(python, settings, signal);
        interpreter = found.path;
        runner.allowReading(found.folders);
      },
      call: (input) => pythonCall(input, interpreter ?? python),
    }),
  };
}

interface ProgramKind {
  readonly open?: (context: EngineContext) => Promise<void>;
  readonly call: (input: JsonObject) => ProgramCall;
}

function programEngine(kind: string, runner: ProgramRunner, { open, call }: ProgramKind): Engine {
  return {
    kind,
    async open(context) {
      await open?.(context);
      await runner.open(context);
      return [];
    },
    call: (request, context: ToolContext) => runner.run(call(request.input), context),
    close: () => runner.close(),
  };
}

function toolOf(
  settings: ProgramSettings,
  tool: Pick<Tool, "name" | "description">,
  properties: JsonObject,
  required: readonly string[],
): Tool {
  const { timeoutMs, maxTimeoutMs } = settings;
  const timeout = {
    type: "number",
    exclusiveMinimum: 0,
    maximum: maxTimeoutMs / 1_000,
    description: `Longest time in seconds. ${timeoutMs / 1_000} by default.`,
  };
  return {
    ...tool,
    inputSchema: { type: "object", properties: { ...properties, timeout }, required, additionalProperties: false },
    effects: programEffects(settings),
    timeoutMs: maxTimeoutMs + BEYOND_MS,
  };
}

/** The part of a description that says where programs run. */
function placeOf({ sandbox, network, root }: ProgramSettings): string {
  const start = `It starts in ${root}, without a terminal and with an empty input.`;
  if (sandbox === "none") return start;
  return `${start} Only files in that folder and in /tmp, which is emptied at its end, can be changed${network ? "" : ", and there is no network"}.`;
}

function bashTool(settings: ProgramSettings): Tool {
  return toolOf(
    settings,
    {
      name: "bash",
      description:
        `Runs a command in a shell and answers with what it writes. ${placeOf(settings)} ` +
        "Each command is a new shell: folder and variables are not kept. Everything that it starts ends with it; to keep a server running, run the call in the background.",
    },
    {
      command: { type: "string", minLength: 1, maxLength: MAX_TEXT, description: "The command." },
      shell: { type: "string", enum: SHELLS, description: "The shell, if not the usual one." },
    },
    ["command"],
  );
}

function shellCall(
  input: JsonObject,
  { runner, shell }: { readonly runner: ProgramRunner; readonly shell: string | undefined },
): ProgramCall {
  const command = String(input["command"]);
  const waiting = waitsFor(command);
  if (waiting !== undefined)
    throw new ToolError("invalid_input", `The command ${JSON.stringify(waiting.part)} is not run: ${waiting.reason}.`, {
      hint: waiting.instead,
    });
  const asked = typeof input["shell"] === "string" ? input["shell"] : shell;
  const program = asked === undefined ? (runner.find("bash") ?? runner.find("sh")) : runner.find(asked);
  if (program === undefined)
    throw new ToolError("unavailable", `There is no shell ${JSON.stringify(asked ?? "sh")} here.`, { retryable: false });
  return { what: "command", program, args: ["-c", command], timeoutMs: timeoutOf(input) };
}

function pythonTool(settings: ProgramSettings): Tool {
  return toolOf(
    settings,
    {
      name: "python",
      description: `Runs Python code, or a file of it, and answers with what it prints. ${placeOf(settings)} Give code or file.`,
    },
    {
      code: { type: "string", minLength: 1, maxLength: MAX_TEXT, description: "The code. Only what it prints is answered." },
      file: { type: "string", minLength: 1, maxLength: 4_096, description: "The path of a file to run." },
      args: { type: "array", items: { type: "string", maxLength: 4_096 }, maxItems: 100, description: "Arguments, in sys.argv." },
    },
    [],
  );
}

function pythonCall(input: JsonObject, interpreter: string): ProgramCall {
  const { code, file, args = [] } = input as { readonly code?: string; readonly file?: string; readonly args?: readonly string[] }; // by the schema
  if ((code === undefined) === (file === undefined)) throw new ToolError("invalid_input", "Give either code or file, and not both.");
  const what = code === undefined ? [`./${file}`.replace(/^\.\/\//u, "/")] : ["-c", code];
  return { what: "program", program: interpreter, args: ["-u", ...what, ...args], timeoutMs: timeoutOf(input) };
}

function timeoutOf({ timeout }: JsonObject): number | undefined {
  return typeof timeout === "number" ? timeout * 1_000 : undefined;
}

const ASK_PYTHON =
  "import json, sys; print(json.dumps({'path': sys.executable, 'folders': [sys.prefix, sys.base_prefix, sys.exec_prefix]}))";
const INSTALL_PYTHON =
  'Install Python ("apt install python3", "dnf install python3", "brew install python"), or name the interpreter: python = "…".';

interface Interpreter {
  readonly path: string;
  /** Folders that it reads. */
  readonly folders: readonly string[];
}

/**
 * The interpreter that a name or a path means. One in the workspace, which a model can change, is run in the sandbox only: what it reads is
 * said by the Python of the system that it is a link to, as in a virtual environment.
 */
async function findPython(python: string, settings: ProgramSettings, signal: AbortSignal): Promise<Interpreter> {
  const path = python.includes(sep) ? resolve(python) : findProgram(python, process.env["PATH"] ?? "");
  if (settings.sandbox === "none" || path === undefined) return askPython(python, signal);
  const target = canonicalPath(path);
  const isOfSystem = !isChangeable(target, settings);
  if (isOfSystem && !isChangeable(join(canonicalPath(dirname(path)), basename(path)), settings)) return askPython(python, signal);
  const { folders } = isOfSystem && /^python[\d.]*$/u.test(basename(target)) ? await askPython(target, signal, "-S") : { folders: [] };
  return { path, folders };
}

function isChangeable(path: string, { root, writable }: ProgramSettings): boolean {
  return [root, ...writable].some((folder) => isInsideFolder(path, folder));
}

/** Asks an interpreter, where a name may be that of a script that chooses one. Nothing of the user or of the folder is loaded by it. */
async function askPython(python: string, signal: AbortSignal, ...more: readonly string[]): Promise<Interpreter> {
  const { PATH = "", HOME = "" } = process.env;
  const said = await promisify(execFile)(python, ["-I", ...more, "-c", ASK_PYTHON], { signal, env: { PATH, HOME }, timeout: 30_000 }).then(
    ({ stdout }) => stdout,
    (error: unknown) => {
      const reason = Reflect.get(Object(error), "code") === "ENOENT" ? "it was not found" : "it does not run Python code";
      throw new ToolError("unavailable", `There is no Python ${JSON.stringify(python)} here: ${reason}.`, {
        operatorHint: INSTALL_PYTHON,
        retryable: false,
      });
    },
  );
  const answer: unknown = parseJson(said);
  const { path, folders } = isJsonObject(answer) ? answer : omitUndefined({ path: undefined, folders: undefined });
  if (typeof path !== "string" || path === "" || !Array.isArray(folders))
    throw new ToolError("unavailable", `${JSON.stringify(python)} does not answer as Python does.`, {
      operatorHint: INSTALL_PYTHON,
      retryable: false,
    });
  const system = ["/usr", "/bin", "/"];
  const read = [...folders.map(String), dirname(path)].filter(
    (folder) => !system.some((known) => folder === known || folder.startsWith("/usr/")),
  );
  return { path, folders: [...new Set(read)] };
}
