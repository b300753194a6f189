/** Reads the front matter of the skills in a folder. */
import { singleLine } from "../../core/base/wording.ts";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { parseYaml, YAML_FILE_LIMITS } from "../../documents/parse-yaml.ts";
import { readTextFile } from "../../documents/read-text-file.ts";

export interface Skill {
  readonly name: string;
  /** The description, in one line. */
  readonly description: string;
  /** The name of its folder, in the folder of skills. */
  readonly folder: string;
}

const MAX_SKILLS = 200;
const MAX_BYTES = 1024 * 1024;
/** The limit of the specification. */
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1_024;

/** Returns the skills by name. Of several with one name, the one whose folder has that name is kept, else the first. `root` is canonical. @throws ToolError `invalid_config` for a folder that cannot be read */
export async function readSkills(root: string, warn: (warning: string) => void): Promise<ReadonlyMap<string, Skill>> {
  const folders = await foldersOf(root);
  if (folders.length > MAX_SKILLS) warn(`${root} has ${folders.length} folders; the first ${MAX_SKILLS} are read as skills.`);
  const skills = new Map<string, Skill>();
  for (const folder of folders.sort().slice(0, MAX_SKILLS)) {
    const skill = await readSkill(root, folder, warn);
    if (skill === undefined) continue;
    const other = skills.get(skill.name);
    const [kept, leftOut] = other === undefined || folder === skill.name ? [skill, other] : [other, skill]; // no skill replaces one of another folder
    skills.set(skill.name, kept);
    if (leftOut !== undefined)
      warn(`The skill ${join(leftOut.folder, "SKILL.md")} is left out: there is another one with the name ${JSON.stringify(skill.name)}.`);
  }
  return skills;
}

/** Includes links to folders, so that a warning says why they are not read. */
async function foldersOf(root: string): Promise<string[]> {
  try {
    const folders: string[] = [];
    for (const entry of await readdir(root, { withFileTypes: true }))
      if (entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToFolder(join(root, entry.name))))) folders.push(entry.name);
    return folders;
  } catch (thrown: unknown) {
    throw new ToolError("invalid_config", `The folder of skills ${root} cannot be read: ${describeThrown(thrown)}`, { cause: thrown });
  }
}

async function leadsToFolder(link: string): Promise<boolean> {
  try {
    return (await stat(link)).isDirectory();
  } catch {
    return false; // it is a dangling link
  }
}

/** Undefined, with a warning, if the skill cannot be used. A folder without `SKILL.md` is not a skill. */
async function readSkill(root: string, folder: string, warn: (warning: string) => void): Promise<Skill | undefined> {
  const path = join(root, folder, "SKILL.md");
  const leftOut = (reason: string): undefined => warn(`The skill ${join(folder, "SKILL.md")} is left out: ${reason}`) as undefined;
  try {
    if (!(await readdir(join(root, folder))).includes("SKILL.md")) return undefined;
    if (!(await realpath(path)).startsWith(join(root, folder) + sep))
      return leftOut("it is reached by a link that leads out of its folder.");
    const text = await readTextFile({ path, what: "skill", code: "invalid_config", maxBytes: MAX_BYTES, hint: "Give a Markdown file." });
    const head = /^---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/u.exec(text)?.[1];
    if (head === undefined) return leftOut('it does not begin with a front matter between two lines "---".');
    const { value } = parseYaml(head, path, { ...YAML_FILE_LIMITS, roundsIntegers: true });
    const fields = isJsonObject(value) ? value : {};
    const [name = folder, description] = [getOwn(fields, "name"), getOwn(fields, "description")];
    if (typeof name !== "string" || name.length > MAX_NAME_LENGTH || !/^[a-z0-9][a-z0-9_-]*$/iu.test(name))
      return leftOut(`its name ${JSON.stringify(name)} must be 1 to ${MAX_NAME_LENGTH} letters, digits, "-" and "_".`);
    if (typeof description !== "string" || description.trim() === "") return leftOut('its front matter has no "description".');
    return { name, description: oneLine(description), folder };
  } catch (thrown: unknown) {
    return leftOut(describeThrown(thrown));
  }
}

function oneLine(text: string): string {
  const line = singleLine(text);
  return line.length <= MAX_DESCRIPTION_LENGTH ? line : `${line.slice(0, MAX_DESCRIPTION_LENGTH - 1).toWellFormed()}…`;
}
