/** `haft trust`: allows the current version of a configuration file to start programs and widen rights. */
import { resolve } from "node:path";
import { trustNeeds } from "../../config/trust/trust-needs.ts";
import type { CommandBody } from "../command.ts";
import { readConfig } from "../open/open-runtime.ts";
import { safeName, safeText } from "../terminal/terminal-text.ts";
import { listNeeds } from "./trust/require-trust.ts";
import { distrustFile, trustFile } from "./trust/trusted-files.ts";

export const trustCommand: CommandBody = {
  details: [
    "A configuration that haft finds in the folder may have come with it from",
    "someone else, or a tool may have changed it. When it starts servers, imports",
    "code, sends variables to servers or widens what tools may do (files outside the",
    "folder, no approval, private addresses), its file and its descriptors must be",
    "trusted once, and again after each change of them. One that is named with",
    "--config is not asked about. Shows what would be started, sent and allowed.",
    "With --forget the trust is taken back. Where HAFT_TRUST is set to all, as in a",
    "build of your own, nothing is asked.",
  ],
  args: [0, 0],
  options: ["config", "forget"],
  examples: ["haft trust", "haft trust --forget"],
  async run(context) {
    const { environment, options, out } = context;
    const loaded = await readConfig(context);
    const path = resolve(loaded.path);
    const needs = await trustNeeds(loaded);
    const programs = listNeeds(needs);
    const trusted = !options.forget;
    if (trusted) await trustFile(environment, path, needs.digest);
    else await distrustFile(environment, path);
    if (options.json) out.writeJson({ path, trusted, programs });
    else {
      for (const line of programs) out.print(`  ${safeText(line)}`);
      out.print(`${safeName(path)} ${trusted ? "is trusted until it changes." : "is not trusted."}`);
    }
    return 0;
  },
};
