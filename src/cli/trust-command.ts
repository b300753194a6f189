/** `haft trust`: lets a configuration file start programs, as it is now. */
import { resolve } from "node:path";
import { startedPrograms } from "../config/started-programs.ts";
import type { Command } from "./command.ts";
import { readConfig } from "./open-runtime.ts";
import { safeJson, safeText } from "./terminal-text.ts";
import { distrustFile, trustFile } from "./trust/trusted-files.ts";

export const trustCommand: Command = {
  name: "trust",
  usage: "",
  summary: "Let the configuration of a folder start programs.",
  details: [
    "A configuration that haft finds in the folder may have come with it from",
    "somebody else. When it starts servers, imports code or sends variables to",
    "servers, its file and its descriptors must be trusted once, and again after each",
    "change of them. One that is named with --config is not asked about. Shows what",
    "would be started and sent. With --forget the word is taken back. Where",
    "HAFT_TRUST is set to all, as in a build of your own, nothing is asked.",
  ],
  args: [0, 0],
  options: ["config", "forget"],
  examples: ["haft trust", "haft trust --forget"],
  async run(context) {
    const { environment, options, out } = context;
    const loaded = await readConfig(context);
    const path = resolve(loaded.path);
    const { starts, sends, digest } = await startedPrograms(loaded);
    const programs = [...starts, ...sends];
    const trusted = !options.forget;
    if (trusted) await trustFile(environment, path, digest);
    else await distrustFile(environment, path);
    if (options.json) out.write(`${safeJson({ path, trusted, programs })}\n`);
    else {
      for (const line of programs) out.print(`  ${safeText(line)}`);
      out.print(`${safeText(path)} ${trusted ? "may start programs, as long as it is as it is now." : "may not start programs."}`);
    }
    return 0;
  },
};
