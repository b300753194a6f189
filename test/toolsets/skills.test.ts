import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { skillsToolset } from "../../src/toolsets/skills.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

async function bench(files: Readonly<Record<string, string>>) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-skills-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "skills"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, "skills", path)), { recursive: true });
    writeFileSync(join(folder, "skills", path), text);
  }
  const { runtime, ports } = testRuntime({ toolsets: [skillsToolset({ folder: join(folder, "skills") })] });
  await runtime.open();
  const description = (): string => runtime.registry.require("skills::skill").tool.description;
  const read = (input: object) => runtime.execute({ name: "skill", input });
  return { runtime, ports, description, read, folder };
}

const REPORT = "---\nname: report\ndescription: >\n  Writes the weekly\n  report.\n---\n# Report\nUse template.md.\n";

describe("F1.72 skills", () => {
  test("F1.72 each skill is listed in one line and can be read, with its other files", async () => {
    const { description, read } = await bench({
      "report/SKILL.md": REPORT,
      "report/docs/template.md": "Dear …",
      "deploy/SKILL.md": "---\ndescription: Deploys.\n---\nRun it.",
      "notes.txt": "not a skill",
      "empty/other.md": "x",
    });
    expect(description()).toMatch(/:\n- deploy: Deploys\.\n- report: Writes the weekly report\.$/u);
    expect((await read({ name: "report" })).output).toBe(REPORT);
    expect((await read({ name: "report", file: "docs/template.md" })).output).toBe("Dear …");
  });

  test("F1.72 a skill cannot take the name of the folder of another one, whichever folder is read first", async () => {
    const { read, ports } = await bench({
      "a/SKILL.md": "---\nname: report\ndescription: First.\n---\n",
      "report/SKILL.md": REPORT,
      "z/SKILL.md": "---\nname: report\ndescription: Last.\n---\n",
    });
    expect((await read({ name: "report" })).output).toBe(REPORT);
    expect(ports.log.lines.flatMap(({ level, message }) => (level === "warn" ? [message] : []))).toEqual(
      ["a", "z"].map((folder) => `The skill ${join(folder, "SKILL.md")} is left out: there is another one with the name "report".`),
    );
  });

  test("F1.72 an unknown skill is an error with near and known names; files outside of its folder are rejected", async () => {
    const { read, folder } = await bench({ "report/SKILL.md": REPORT, "deploy/SKILL.md": "---\ndescription: Deploys.\n---\n" });
    writeFileSync(join(folder, "secret.txt"), "secret");
    symlinkSync(join(folder, "secret.txt"), join(folder, "skills", "report", "link.md"));
    expect((await read({ name: "reprot" })).error).toMatchObject({
      code: "not_found",
      message: 'There is no skill "reprot". Did you mean "report"?',
      hint: "Known skills: deploy, report.",
    });
    expect((await read({ name: "__proto__" })).error?.code).toBe("not_found");
    for (const file of ["../deploy/SKILL.md", "../../secret.txt", "link.md"])
      expect((await read({ name: "report", file })).error?.code, file).toBe("permission_denied");
    for (const file of ["none.md", "/etc/passwd"])
      expect((await read({ name: "report", file })).error).toMatchObject({
        code: "not_found",
        message: `The skill "report" has no file "${file}".`,
        hint: "Its instructions name its files.",
      });
  });

  test("F1.72 a skill with unusable front matter is left out with a warning, and the others work", async () => {
    const { ports, description } = await bench({
      "a/SKILL.md": "No front matter.",
      "b/SKILL.md": "---\nname: b\n---\n",
      "c/SKILL.md": "---\nname: [\n---\n",
      "d/SKILL.md": '---\nname: "d e"\ndescription: x\n---\n',
      "e/SKILL.md": "---\nname: good\ndescription: Good.\n---\n",
      "f/SKILL.md": "---\nname: good\ndescription: Again.\n---\n",
    });
    expect(description()).toMatch(/:\n- good: Good\.$/u);
    const warnings = ports.log.lines.flatMap(({ level, message }) => (level === "warn" ? [message] : []));
    expect(warnings.map((line) => /The skill (\w)/u.exec(line)?.[1] ?? line.slice(-60))).toHaveLength(5);
    expect(warnings[0]).toBe('The skill a/SKILL.md is left out: it does not begin with a front matter between two lines "---".');
  });

  test("F1.72 a skill behind a link out of its folder is left out with a warning; every listed skill can be read", async () => {
    const { runtime, ports, description, read, folder } = await bench({
      "report/SKILL.md": REPORT,
      "own/README.md": "---\ndescription: Its own.\n---\n",
      "other/x.md": "",
    });
    const skills = join(folder, "skills");
    mkdirSync(join(folder, "shared"));
    writeFileSync(join(folder, "shared", "SKILL.md"), "---\ndescription: Shared.\n---\n");
    symlinkSync("README.md", join(skills, "own", "SKILL.md"));
    symlinkSync("../../shared/SKILL.md", join(skills, "other", "SKILL.md"));
    symlinkSync("../shared", join(skills, "shared"));
    symlinkSync("report", join(skills, "alias"));
    symlinkSync("nowhere", join(skills, "dead"));
    symlinkSync("report/SKILL.md", join(skills, "a-file"));
    await runtime.refresh();
    expect(description()).toMatch(/:\n- own: Its own\.\n- report: Writes the weekly report\.$/u);
    for (const name of ["own", "report"]) expect((await read({ name })).status).toBe("ok");
    expect(ports.log.lines.flatMap(({ level, message }) => (level === "warn" ? [message] : []))).toEqual(
      ["alias", "other", "shared"].map(
        (name) => `The skill ${name}/SKILL.md is left out: it is reached by a link that leads out of its folder.`,
      ),
    );
  });

  test("F1.72 a new skill appears after a refresh, and a missing folder throws", async () => {
    const { runtime, description, folder } = await bench({});
    expect(description()).toMatch(/\(there are none\)$/u);
    mkdirSync(join(folder, "skills", "late"), { recursive: true });
    writeFileSync(join(folder, "skills", "late", "SKILL.md"), "---\ndescription: Late.\n---\n");
    await runtime.refresh();
    expect(description()).toMatch(/- late: Late\.$/u);
    expect(() => skillsToolset({ folder: join(folder, "none") })).toThrow(/none/u);
  });
});
