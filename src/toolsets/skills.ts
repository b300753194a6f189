/** The toolset `skills`: instructions in folders, each listed in one line and read when a model needs it. @packageDocumentation */
import { resolve } from "node:path";
import { checkName } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext, EngineRequest } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { findNearNames } from "../core/base/near-names.ts";
import { loadCurrent, decodeFile } from "./files/change-file.ts";
import { Workspace } from "./files/workspace-path.ts";
import { readSkills, type Skill } from "./skills/read-skills.ts";

/** Options of `skillsToolset`. */
export interface SkillsOptions {
  /** An existing folder. Each folder in it that has a `SKILL.md` is a skill. */
  readonly folder: string;
  /** The namespace of the tool. @default "skills" */
  readonly name?: string;
}

const OPTIONS: OptionNames<SkillsOptions> = { folder: true, name: true };
const SKILL_FILE = "SKILL.md";

/**
 * Returns a toolset with the tool `skill` over a folder of skills: `<skill>/SKILL.md` begins with a YAML front matter that has `name` and
 * `description`. The description of the tool lists every skill in one line; a call reads the instructions of one, or another file of its folder.
 *
 * The folder is read when the toolset is opened and when it is refreshed. At most 200 skills. A skill whose front matter cannot be read, or that is
 * reached by a link leading out of its folder, is left out with a warning.
 *
 * @throws ToolError `invalid_config` if the folder cannot be read, `invalid_argument` for other options
 * @see https://agentskills.io/specification
 */
export function skillsToolset(options: SkillsOptions): Toolset {
  checkKnownKeys(options, OPTIONS, "skillsToolset()");
  const { folder, name = "skills" } = options;
  checkName(name, "toolset");
  if (typeof folder !== "string" || folder === "")
    throw new ToolError("invalid_config", `The toolset ${JSON.stringify(name)} needs a folder: the path of the folder with the skills.`);
  return {
    name,
    description: "Instructions for tasks.",
    engine: new SkillsEngine(new Workspace({ root: resolve(folder), guard: "block", allowSensitive: [] })),
  };
}

class SkillsEngine implements Engine {
  readonly kind = "skills";
  readonly effectFree = true;
  readonly #workspace: Workspace;
  #skills: ReadonlyMap<string, Skill> = new Map();
  #log: Log | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async open({ log }: EngineContext): Promise<readonly Tool[]> {
    this.#log = log;
    return this.list();
  }

  async list(): Promise<readonly Tool[]> {
    this.#skills = await readSkills(this.#workspace.root, (warning) => this.#log?.warn(warning));
    return [skillTool(this.#skills)];
  }

  async call({ input }: EngineRequest, context: ToolContext): Promise<string> {
    const name = String(input["name"]);
    const skill = this.#skills.get(name);
    if (skill === undefined) throw this.#unknownSkillError(name);
    const { file = SKILL_FILE } = input;
    const resolved = await this.#workspace.resolveForRead(`${skill.folder}/${String(file)}`, context);
    if (!resolved.shown.startsWith(`${skill.folder}/`))
      throw new ToolError("permission_denied", `${JSON.stringify(file)} is not in the folder of the skill ${JSON.stringify(name)}.`, {
        outcome: "failed",
      });
    if (resolved.missing.length > 0)
      throw new ToolError("not_found", `The skill ${JSON.stringify(name)} has no file ${JSON.stringify(file)}.`, {
        outcome: "failed",
        hint: "Its instructions name its files.",
      });
    return decodeFile(await loadCurrent(resolved, context.signal));
  }

  #unknownSkillError(name: string): ToolError {
    const names = [...this.#skills.keys()];
    const [near] = findNearNames(name, names, 1);
    return new ToolError(
      "not_found",
      `There is no skill ${JSON.stringify(name)}.${near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`}`,
      {
        outcome: "not_started",
        hint: names.length === 0 ? "There are no skills." : `Known skills: ${names.slice(0, 50).join(", ")}.`,
      },
    );
  }
}

function skillTool(skills: ReadonlyMap<string, Skill>): Tool {
  const list = [...skills.values()].map(({ name, description }) => `- ${name}: ${description}`);
  return {
    name: "skill",
    description: `Reads the instructions of a skill. Read them before you begin a task that one of these skills is for:\n${list.length === 0 ? "(there are none)" : list.join("\n")}`,
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, maxLength: 200, description: "The name of the skill." },
        file: { type: "string", minLength: 1, maxLength: 1_000, description: "Another file of the skill, as its instructions name it." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    effects: { reads: [], writes: [], idempotent: true },
  };
}
