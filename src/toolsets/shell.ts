/** Toolsets that run code written by a model: shell commands and Python. @packageDocumentation */
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
import { TIMEOUT_MARGIN_MS, ProgramRunner, programEffects, type ProgramCall } from "./programs/program-runner.ts";
import { findBlockingCommand } from "./programs/blocking-commands.ts";

export type { ProgramOptions, SandboxKind } from "./programs/program-options.ts";

/** Options of `shellToolset`. */
export interface ShellOptions extends ProgramOptions {
  /** The default shell of commands: a name, or a path. @default "bash", or "sh" if there is no bash */
  readonly shell?: string;
}

/** Options of `pythonToolset`. */
export interface PythonOptions extends ProgramOptions {
  /**
   * The interpreter: a name, or a path such as `.venv/bin/python`. An interpreter in the workspace is only run in the sandbox, and may be that of a
   * virtual environment. @default "python3"
   */
  readonly python?: string;
}

/** Maximum number of characters of a command or program: Linux takes arguments of at most 128 KiB. */
const MAX_TEXT = 30_000;
const SHELLS = ["bash", "sh", "zsh"];

/**
 * Returns a toolset with the tool `bash`, which runs a command in a shell, in the workspace.
 *
 * Each command is a new process, with empty standard input and few environment variables. When it ends, all processes that it started are ended too,
 * even those in the background or in a session of their own. Only without a sandbox, a process that has cleared its environment and left both its
 * session and its parent remains. Its output, standard error included, is streamed (`context.output`) and is the result;
 * an exit code other than 0 is an error that keeps the output. At its timeout a command gets SIGTERM, then SIGKILL after 3 s, or sooner if
 * its call has less time left, and ends with the output so far and the exit code -1. A call that is cancelled, or ends at its deadline, has the output
 * until a tenth of a second before.
 *
 * In the sandbox a command can only change the workspace, and only read the workspace and the programs of the system; it has no network unless
 * `network` is set. Files that other programs obey are read-only there, and files that hold credentials cannot be opened. This covers files that
 * exist when the command starts, up to three folders deep; in `vendor`, `target`, `dist` and `build` only credentials are covered, in `node_modules`,
 * `venv` and `.venv` nothing. The tool's effects are the files of the workspace; without a sandbox they are undeclared. Approval is asked in both
 * cases.
 *
 * @throws ToolError `invalid_config` if the root is not a folder, `invalid_argument` for other options. Opening fails with `unavailable` if the
 * sandbox cannot be set up
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
 * Returns a toolset with the tool `python`, which runs Python code, or a file of the workspace. In all else like `shellToolset`.
 *
 * @throws ToolError like `shellToolset`. Opening also fails with `unavailable` if there is no Python
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

function programTool(
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
    timeoutMs: maxTimeoutMs + TIMEOUT_MARGIN_MS,
  };
}

/** Returns the part of a description that says where programs run. */
function describeWorkingFolder({ sandbox, network, root }: ProgramSettings): string {
  const start = `It starts in ${root}, without a terminal and with an empty input.`;
  if (sandbox === "none") return start;
  return `${start} Only files in that folder and in /tmp, which is emptied at its end, can be changed${network ? "" : ", and there is no network"}.`;
}

function bashTool(settings: ProgramSettings): Tool {
  return programTool(
    settings,
    {
      name: "bash",
      description:
        `Runs a command in a shell and answers with what it writes. ${describeWorkingFolder(settings)} ` +
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
  const blocking = findBlockingCommand(command);
  if (blocking !== undefined)
    throw new ToolError("invalid_input", `The command ${JSON.stringify(blocking.part)} is not run: ${blocking.reason}.`, {
      hint: blocking.instead,
    });
  const asked = typeof input["shell"] === "string" ? input["shell"] : shell;
  const program = asked === undefined ? (runner.find("bash") ?? runner.find("sh")) : runner.find(asked);
  if (program === undefined)
    throw new ToolError(asked === shell ? "unavailable" : "invalid_input", `There is no shell ${JSON.stringify(asked ?? "sh")} here.`, {
      retryable: false,
      ...(asked === shell ? {} : { hint: "Leave out shell for the usual one." }),
    });
  return { what: "command", program, args: ["-c", command], timeoutMs: timeoutOf(input) };
}

function pythonTool(settings: ProgramSettings): Tool {
  return programTool(
    settings,
    {
      name: "python",
      description: `Runs Python code, or a file of it, and answers with what it prints. ${describeWorkingFolder(settings)} Give code or file.`,
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

const INSPECT_SCRIPT =
  "import json, sys; print(json.dumps({'path': sys.executable, 'folders': [sys.prefix, sys.base_prefix, sys.exec_prefix]}))";
const INSTALL_PYTHON =
  'Install Python ("apt install python3", "dnf install python3", "brew install python"), or name the interpreter: python = "…".';

interface Interpreter {
  readonly path: string;
  /** The folders that the interpreter reads. */
  readonly folders: readonly string[];
}

/**
 * Returns the interpreter for a name or a path. An interpreter in the workspace, which a model can change, is only run in the sandbox: the folders
 * that it reads are asked of the system's Python that it links to, as in a virtual environment.
 */
async function findPython(python: string, settings: ProgramSettings, signal: AbortSignal): Promise<Interpreter> {
  const path = python.includes(sep) ? resolve(python) : findProgram(python, process.env["PATH"] ?? "");
  if (settings.sandbox === "none" || path === undefined) return inspectPython(python, signal);
  const target = canonicalPath(path);
  const isOfSystem = !isChangeable(target, settings);
  if (isOfSystem && !isChangeable(join(canonicalPath(dirname(path)), basename(path)), settings)) return inspectPython(python, signal);
  const { folders } = isOfSystem && /^python[\d.]*$/u.test(basename(target)) ? await inspectPython(target, signal, "-S") : { folders: [] };
  return { path, folders };
}

function isChangeable(path: string, { root, writable }: ProgramSettings): boolean {
  return [root, ...writable].some((folder) => isInsideFolder(path, folder));
}

/** Asks an interpreter for its path and folders, because a name may be a script that selects an interpreter. Loads no code of the user or folder. */
async function inspectPython(python: string, signal: AbortSignal, ...more: readonly string[]): Promise<Interpreter> {
  const { PATH = "", HOME = "" } = process.env;
  const printed = await promisify(execFile)(python, ["-I", ...more, "-c", INSPECT_SCRIPT], {
    signal,
    env: { PATH, HOME },
    timeout: 30_000,
  }).then(
    ({ stdout }) => stdout,
    (error: unknown) => {
      const reason = Reflect.get(Object(error), "code") === "ENOENT" ? "it was not found" : "it does not run Python code";
      throw new ToolError("unavailable", `There is no Python ${JSON.stringify(python)} here: ${reason}.`, {
        operatorHint: INSTALL_PYTHON,
        retryable: false,
      });
    },
  );
  const answer: unknown = parseJson(printed);
  const { path, folders } = isJsonObject(answer) ? answer : omitUndefined({ path: undefined, folders: undefined });
  if (typeof path !== "string" || path === "" || !Array.isArray(folders))
    throw new ToolError("unavailable", `${JSON.stringify(python)} does not respond like Python.`, {
      operatorHint: INSTALL_PYTHON,
      retryable: false,
    });
  const system = ["/usr", "/bin", "/"];
  const read = [...folders.map(String), dirname(path)].filter(
    (folder) => !system.some((known) => folder === known || folder.startsWith("/usr/")),
  );
  return { path, folders: [...new Set(read)] };
}
